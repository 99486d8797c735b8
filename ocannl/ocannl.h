// SPDX-License-Identifier: Apache-2.0
//
// Everything that a program needs to write, differentiate, train, look into and
// run tensor expressions. examples/ and experiments/lessons show how.
//
// All macros that it leaves begin with OCANNL_. The nodes of the engine's own
// languages, such as loops, are in namespaces of their own.
#ifndef OCANNL_OCANNL_H_
#define OCANNL_OCANNL_H_

// Tensor expressions, in C++ and as text.
#include "ocannl/core/base/ndarray.h"                // NdArray
#include "ocannl/core/base/status_macros.h"          // OCANNL_ASSIGN_OR_RETURN
#include "ocannl/core/notation/names.h"              // Names
#include "ocannl/core/notation/parse.h"              // ParseTensor
#include "ocannl/core/notation/statements/define.h"  // DefineOp
#include "ocannl/core/runtime/npy.h"                 // ReadNpy, WriteNpy
#include "ocannl/core/shape/infer.h"                 // InferShapes
#include "ocannl/core/tensor/arrange.h"              // Stack, Part, Stretch
#include "ocannl/core/tensor/indexing.h"             // Gather, OneHot, ArgMax
#include "ocannl/core/tensor/initializer.h"          // Uniform1, Xavier
#include "ocannl/core/tensor/leaf.h"                 // Data, Input, Param
#include "ocannl/core/tensor/scalars.h"              // Sum, Mean
#include "ocannl/core/tensor/tensor.h"  // Tensor and its operations

// What runs them, and what is made of them on the way.
#include "ocannl/core/cd/parse.h"                 // ParseCd
#include "ocannl/core/cd/print.h"                 // PrintCd
#include "ocannl/core/compile.h"                  // ToRoutine
#include "ocannl/core/explain.h"                  // ExplainCode
#include "ocannl/core/runtime/context.h"          // Device, Stream, Context
#include "ocannl/core/runtime/recording.h"        // Recording
#include "ocannl/core/runtime/routine.h"          // Routine
#include "ocannl/core/runtime/virtual_devices.h"  // VirtualDevices
#include "ocannl/flags/user_settings.h"           // FindUserSettings
#include "ocannl/interp/interp_backend.h"         // interp::InterpBackend
#include "ocannl/onnx/export.h"                   // onnx::Export
#include "ocannl/onnx/session.h"                  // onnx::Session
#include "ocannl/print_tree.h"                    // TensorTree
#include "ocannl/print_values.h"                  // PrintValues
#include "ocannl/tiers/tiers.h"                   // FindTier

// Training, and using what was trained.
#include "ocannl/train/blocks/attention.h"         // MultiHeadAttention
#include "ocannl/train/blocks/conv.h"              // Conv2d
#include "ocannl/train/blocks/embedding.h"         // Embedding
#include "ocannl/train/blocks/init.h"              // KaimingUniform
#include "ocannl/train/blocks/linear.h"            // Linear, Mlp
#include "ocannl/train/blocks/loss.h"              // CrossEntropy
#include "ocannl/train/blocks/norm.h"              // LayerNorm
#include "ocannl/train/blocks/params.h"            // ParamScope
#include "ocannl/train/blocks/position.h"          // positions of tokens
#include "ocannl/train/blocks/softmax.h"           // Softmax
#include "ocannl/train/blocks/state.h"             // Dropout, UpdateStates
#include "ocannl/train/blocks/transformer.h"       // whole transformers
#include "ocannl/train/blocks/vision.h"            // whole convolutional nets
#include "ocannl/train/checkpoint/checkpoint.h"    // SaveParams, LoadArrays
#include "ocannl/train/checkpoint/series.h"        // CheckpointSeries
#include "ocannl/train/checkpoint/torch_names.h"   // PyTorchNames
#include "ocannl/train/compat/merge_batch.h"       // MergeBatch
#include "ocannl/train/compat/ocannl_names.h"      // names of OCANNL
#include "ocannl/train/compat/run_once.h"          // UpdateOnce
#include "ocannl/train/compat/torch_lean_names.h"  // names of TorchLean
#include "ocannl/train/compat/virtualize.h"        // SetVirtualization
#include "ocannl/train/data/batch_order.h"         // BatchOrder
#include "ocannl/train/data/data_loader.h"         // DataLoader
#include "ocannl/train/data/files.h"               // LoadCsv, LoadIdx
#include "ocannl/train/data/word_piece.h"          // WordPiece
#include "ocannl/train/decode/generator.h"         // Generator, Sample
#include "ocannl/train/distributed/mpi.h"          // StartMpi, Communicator
#include "ocannl/train/eager/scalar_trainer.h"    // ScalarTrainer, Session, Ops
#include "ocannl/train/fit/fit.h"                 // Fit
#include "ocannl/train/graph/code.h"              // ParseCode
#include "ocannl/train/graph/model.h"             // Model, Forward, GradUpdate
#include "ocannl/train/optim/rule.h"              // StartTraining
#include "ocannl/train/optim/rules.h"             // Sgd, AdamW, Muon
#include "ocannl/train/optim/schedule.h"          // CosineRate, Warmup
#include "ocannl/train/optim/transforms.h"        // ClipByGlobalNorm, Ema
#include "ocannl/train/parallel/data_parallel.h"  // DataParallel
#include "ocannl/train/parallel/example_train_loop.h"  // ExampleTrainLoop
#include "ocannl/train/parallel/round_robin.h"         // RoundRobin
#include "ocannl/train/run/debug.h"                    // EnableAllDebugs
#include "ocannl/train/run/predict.h"                  // Predictor
#include "ocannl/train/run/run.h"                // SyncRun, ForwardAndForget
#include "ocannl/train/run/sequential_loop.h"    // SequentialLoop
#include "ocannl/train/text/sentence_encoder.h"  // SentenceEncoder

#endif  // OCANNL_OCANNL_H_
