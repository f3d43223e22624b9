"""Runtimes of exported files: functions from a path and inputs to a dict of outputs."""


def run_savedmodel(path, history, **others):
    import tensorflow as tf

    serve = tf.saved_model.load(str(path)).signatures["serving_default"]
    inputs = {name: tf.constant(x) for name, x in {"history": history, **others}.items()}
    return {name: x.numpy() for name, x in serve(**inputs).items()}


def run_litert(path, history, **others):
    from ai_edge_litert.interpreter import Interpreter

    return Interpreter(model_path=str(path)).get_signature_runner()(history=history, **others)


def run_onnx(path, history, **others):
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path))
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"history": history, **others}), strict=True))


RUNTIMES = {
    "SavedModel": ("", run_savedmodel),
    "ONNX": (".onnx", run_onnx),
    "LiteRT": (".tflite", run_litert),
}
