# A model behind an OpenAI-compatible endpoint, such as one that vLLM serves. The key is read from
# the environment variable that key_variable names, and from nowhere else. For example
# --cfg-options counter.url=https://api.openai.com/v1 counter.model=gpt-4o
counter = dict(
    type="autoeval.counting.counters.build.endpoint",
    url="http://localhost:8000/v1",
    model="Qwen/Qwen2-VL-7B-Instruct",
    max_tokens=8192,
    temperature=None,
    key_variable="OPENAI_API_KEY",
    timeout=120,
    retries=5,
)
