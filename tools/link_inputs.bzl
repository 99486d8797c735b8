"""The linker inputs of a library, for rules that link it themselves."""

def link_inputs(library):
    """Returns the parts of a CcInfo: our objects, archives of the operating
    system, and flags."""
    objects, archives, flags = [], [], []
    for input in library.linking_context.linker_inputs.to_list():
        for part in input.libraries:
            own = part.objects or part.pic_objects
            if own:
                objects += own
            elif part.static_library:
                archives.append(part.static_library)
        flags += input.user_link_flags
    return struct(objects = objects, archives = archives, flags = flags)
