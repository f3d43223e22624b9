"""What runs the exported files, each a function from a path and histories to a dict of outputs."""


def run_savedmodel(path, history):
    import tensorflow as tf

    serve = tf.saved_model.load(str(path)).signatures["serving_default"]
    return {name: x.numpy() for name, x in serve(history=tf.constant(history)).items()}


def run_litert(path, history):
    from ai_edge_litert.interpreter import Interpreter

    return Interpreter(model_path=str(path)).get_signature_runner()(history=history)


def run_onnx(path, history):
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path))
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"history": history}), strict=True))


RUNTIMES = {
    "SavedModel": ("", run_savedmodel),
    "ONNX": (".onnx", run_onnx),
    "LiteRT": (".tflite", run_litert),
}
