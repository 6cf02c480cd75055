# Qwen2-VL run here by transformers (pip install 'autoeval[vlm]'); tokens as in appendix A.2.
counter = dict(
    type="autoeval.counting.counters.build.local_model",
    model="Qwen/Qwen2-VL-7B-Instruct",
    max_new_tokens=8192,
    temperature=1.0,
    device="cuda",
    dtype="auto",
)
