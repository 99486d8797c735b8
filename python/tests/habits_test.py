#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What users of PyTorch, Keras, JAX and NumPy write by habit: each is an
exception that says how it is written here, or works. 2 seconds."""

import os
import re
import sys
import unittest

sys.path[:0] = [os.path.abspath("python"), os.path.abspath("python/tests")]

import ocannl  # noqa: E402
from small_model import X, Y, said_by, scope  # noqa: E402

# Of small_model.scope, what a user writes, and what the message must say.
HABITS = [
    # Of a model.
    ("m.to('cuda')", r"the device is chosen first: ocannl\.Model\(tier=\"cuda"),
    ("m.cuda()", r"ocannl\.Model\(tier=\"cuda\"\)"),
    ("m(X)", r"TypeError: a model is not a function.*model\.predict\(tensor\)"),
    ("m.train()", r"'loss'.*steps are in training mode, and predictions never"),
    ("m.eval()", r"predictions are never in training mode"),
    ("m.fit(X, Y, epochs=3)", r"ocannl\.fit\(step, examples, batch_size"),
    ("m.evaluate(X, Y)", r"measure in after_epoch, with model\.predict"),
    ("m.predict(X)", r"a prediction is called with arrays: model\.predict\(ten"),
    ("m.summary()", r"model\[name\]\.shape for name in model"),
    ("m.add(net)", r"layers are functions"),
    ("m.layers", r"keep them in variables"),
    ("m.weights", r"maps names to parameters: list\(model\), model\[name\]"),
    ("m.named_parameters()", r"maps names to parameters"),
    ("m.trainable_variables", r"maps names to parameters"),
    ("m.get_weights()", r"maps names to parameters"),
    ("m.load_state_dict({})", r"model\.load\(path\) keep parameters"),
    ("m.requires_grad_(False)", r"model\.freeze\(\"conv\*\"\)"),
    ("m.mlp_layer1_w = X", r"is an item: model\['mlp_layer1_w'\] = array"),
    ("m.w1", r"model\[name\] has mlp_layer1_w, mlp_layer1_b"),
    ("net in m", r"TypeError: a model has parameters by name"),
    ("m.foo = 3", r"keep what belongs to a model in a variable"),
    # Of a tensor.
    ("net(X)", r"TypeError: a tensor is not a function: f = model\.predict"),
    ("net.rows()", r"TypeError: this is an attribute, '4\|1': leave out \(\)"),
    ("x.shape()", r"an attribute, \(4, 2\): leave out"),
    ("x.dtype()", r"an attribute, 'f32': leave out"),
    ("x.size(0)", r"x\.shape has the sizes, and x\.rows their roles"),
    ("x.ndim", r"it is len\(x\.shape\)"),
    ("x.requires_grad", r"\.detach\(\) stops a gradient, and model\.freeze"),
    ("x.grad", r"steps compute gradients"),
    ("x.data", r"model\.predict\(tensor\)\(\.\.\.\) computes values"),
    ("x.relu()", r"it is a function: ocannl\.relu\(x\)"),
    ("x.softmax(1)", r"ocannl\.softmax\(\"\.\.\.\|v => \.\.\.\|0\", x\)"),
    ("x.argmax(1)", r"ocannl\.argmax\(\"\.\.\.\|i\", x\)"),
    ("x.pow(2)", r"x \*\* 2 is the power"),
    ("x.std()", r"ocannl\.square\(x - x\.mean\(\)\)"),
    ("x.min()", r"-\(-x\)\.max\(spec\)"),
    ("x.clamp(0, 1)", r"ocannl\.minimum\(ocannl\.maximum\(x, low\), high\)"),
    ("x.mm(y)", r"a @ b multiplies tensors"),
    ("x.t()", r"ocannl\.einsum\(\"a, b => b, a\", x\)"),
    ("x.add_(1)", r"tensors are expressions, which never change"),
    ("x.zero_()", r"which never change"),
    ("x.expand(3, 4)", r"operands broadcast"),
    ("x.split(2)", r"ocannl\.part\("),
    ("x.cat(y)", r"ocannl\.concat\("),
    ("x.masked_fill(x > 0, 1.0)", r"ocannl\.where\(mask, value, x\)"),
    ("x.half()", r"\.to\(\"f16\"\)"),
    ("x.foo = 3", r"of a tensor cannot be set; keep what belongs to a tensor"),
    ("x.name = 'a'", r"\.named\(name\) gives a tensor a name"),
    ("x.dtype = 'f16'", r"\.to\(dtype\)"),
    ("x.model = other", r"`model` of a tensor cannot be set"),
    ("np.mean(x)", r"numpy\.mean\(\) does not take tensors; x\.mean\(\) does"),
    ("np.where(x > 0, x, 0)", r"ocannl\.where\(condition, a, b\)"),
    ("np.concatenate([x, y])", r"ocannl\.concat\("),
    # Of parameters and results.
    ("m['mlp_layer1_w'].fill(0)", r"a parameter's is a copy"),
    ("m['mlp_layer1_w'].requires_grad = False", r"model\.freeze\("),
    ("m['mlp_layer1_w'].grad", r"gradients are not kept"),
    ("f(x=X).cpu().numpy()", r"in the memory of the host: array\.numpy\(\)"),
    ("f(x=X).detach()", r"array\.numpy\(\)"),
    ("f(x=X).shape = (2, 2)", r"cannot be set"),
    ("f(x=X).shape()", r"leave out \(\)"),
    ("f.numpy()", r"a call returns an array: f\(x=array\)\.numpy\(\)"),
    ("f.predict(x=X)", r"a prediction is called: f\(x=array\)"),
    ("f[0]", r"TypeError: a prediction has no items: it is called"),
    ("f.foo = 1", r"of a prediction cannot be set"),
    # Of steps, losses and optimisers.
    ("step.backward()", r"a call of the step"),
    ("step.lr = 0.1", r"a schedule is a learning rate: ocannl\.sgd"),
    ("step.parameters()", r"maps names to parameters"),
    ("step.run(x=X, y=Y)", r"a step is called: step\(x=array\)"),
    ("len(step)", r"TypeError: a step has no items"),
    ("for each in step: pass", r"TypeError: a step has no items"),
    ("step(x=X, y=Y, lr=0.1)", r"the learning rate is the first argument of"),
    ("step(x=X, y=Y).numpy()", r"it is one number: float\(loss\)"),
    ("step(x=X, y=Y)[0]", r"TypeError: a loss is one number"),
    ("step(x=X, y=Y).mean()", r"it is one number"),
    ("opt.step()", r"an optimiser has no attribute `step`; a call of the step"),
    ("opt.lr = 0.1", r"`lr` of an optimiser cannot be set; a schedule"),
    ("opt.param_groups", r"a schedule is a learning rate"),
    ("ocannl.adam(m, 0.1)", r"a step trains the parameters of its loss"),
    ("m.train(loss, 'adam')", r"such as ocannl\.adamw\(1e-3\)"),
    ("m.train(loss, optimizer=opt)", r"give optimiser"),
    ("m.train(loss, opt, params=['w'])", r"model\.freeze\("),
    ("m.train(loss, opt, devices=2)", r"give shards"),
    # Of the module.
    ("ocannl.from_numpy(X)", r"model\.constant\(name, values, rows\)"),
    ("ocannl.Dense(3)", r"layers are functions: ocannl\.linear\(x, 64\)"),
    ("ocannl.MSELoss()", r"ocannl\.mean_squared_error\(values, targets\)"),
    ("ocannl.binary_cross_entropy(net, y)", r"ocannl\.softplus\(z\) - y \* z"),
    ("ocannl.l1_loss(net, y)", r"ocannl\.abs\(values - targets\)\.mean\(\)"),
    ("ocannl.leaky_relu(x)", r"ocannl\.maximum\(x, 0\.01 \* x\)"),
    ("ocannl.jit(f)", r"model\.train\(\) and model\.predict\(\) compile"),
    ("ocannl.random.PRNGKey(0)", r"ocannl\.Model\(seed=1\) has the seed"),
    ("ocannl.lr_scheduler", r"a schedule is a learning rate"),
    ("ocannl.max(x)", r"x\.max\(\"b\|i => b\|\"\)"),
    ("ocannl.reshape(x, (2, 4))", r"it is a method: x\.reshape\(rows\)"),
    ("ocannl.concat([x, y])", r"as in ocannl\.concat\(\"\.\.\.\|a; "),
    ("ocannl.softmax(x, -1)", r"as in ocannl\.softmax\(\"\.\.\.\|v => "),
    ("ocannl.softmax(x, axis=-1)", r"as in ocannl\.softmax\(\""),
    ("ocannl.linear(8)(x)", r"`x` is 8.*linear\(x, outputs=None"),
    ("ocannl.linear(x, 8)(x)", r"layers are functions of a tensor"),
    ("ocannl.linear(x, 8, activation='relu')", r"apply it to the result"),
    ("ocannl.conv2d(x, 8, kernel_size=3)", r"give kernel"),
    ("ocannl.dropout(x, 0.5, training=True)", r"steps train and predictions do"),
    ("ocannl.linear(x, 8, name='a'); ocannl.relu(ocannl.linear(x, 8, name='a'))",
     r"there is a layer `a` already \(user\.py:1\).*another name, or none"),
    ("m.input('x2', (None, 2))", r"such as \"32\|2\", which is batch\|output"),
    ("m.input('x2', shape=(4, 2))", r"give rows, such as \"32\|2\""),
    ("ocannl.fit(step, {'x': X}, batch_size=4, callbacks=[])",
     r"after_epoch is called after each epoch"),
]

# What works as in those.
AS_THERE = [
    ("f(x=X).argmax(-1).tolist()", "[0, 0, 0, 0]"),
    ("bool(f(x=X).mean() == f(x=X).numpy().mean())", "True"),
    ("m['mlp_layer1_w'].T.shape", "(2, 8)"),
    ("f(x=X).reshape(2, 2).shape", "(2, 2)"),
    ("f(x=X).ndim", "2"),
    ("(bool(step), bool(f))", "(True, True)"),
    ("(x.rows, x.shape, x.dtype)", "('4|2', (4, 2), 'f32')"),
    ("'%s' % x.rows", "'4|2'"),
    ("X.reshape(x.shape).shape", "(4, 2)"),
]


class HabitsTest(unittest.TestCase):

    def test_messages_say_how_it_is_written(self):
        names = scope()
        first = float(names["step"](x=X, y=Y))
        for text, pattern in HABITS:
            with self.subTest(text):
                said = said_by(text, names) or "no exception"
                self.assertRegex(said, re.compile(pattern, re.DOTALL))
                self.assertEqual(float(names["step"](x=X, y=Y)), first)

    def test_what_works(self):
        names = scope()
        for text, value in AS_THERE:
            self.assertEqual(repr(eval(text, dict(names))), value, text)

    def test_many_parameters_are_not_all_listed(self):
        m = ocannl.Model()
        h = m.input("x", "4|2")
        for _ in range(9):
            h = ocannl.linear(h, 2)
        with self.assertRaisesRegex(KeyError, "linear4_b and 10 more"):
            m["w"]
        with self.assertRaisesRegex(AttributeError, "linear4_b and 10 more"):
            m.w

    def test_names_of_layers(self):
        m = ocannl.Model()
        x = m.input("x", "4|2")
        ocannl.linear(x, 3, name="linear2")
        for _ in range(3):
            ocannl.linear(x, 3)
        self.assertEqual([name for name in m if name.endswith("_w")],
                         ["linear2_w", "linear_w", "linear3_w", "linear4_w"])

    def test_names_of_layers_that_failed_are_free(self):
        x = ocannl.Model().input("x", "4|2")
        for wrong in ({"outputs": 3, "init": "he"}, {"outputs": 0}):
            with self.assertRaises(ocannl.Error):
                ocannl.linear(x, name="a", **wrong)
        ocannl.linear(x, 3, name="a")
        self.assertEqual(list(x.model), ["a_w", "a_b"])


if __name__ == "__main__":
    unittest.main()
