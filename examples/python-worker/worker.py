"""A worker of Heddle in Python 3, with nothing but its standard library. It counts the words of texts.

    HEDDLE_URL=http://127.0.0.1:8085 HEDDLE_TOKEN=hdl_... python3 worker.py
"""
import json, os, threading, time, urllib.error, urllib.request

URL, TOKEN = os.environ["HEDDLE_URL"], os.environ.get("HEDDLE_TOKEN")
LEASE_SECS = int(os.environ.get("LEASE_SECS", "60"))


def call(path, body):
    """Asks until there is an answer; a refusal is raised as urllib.error.HTTPError."""
    headers = {"content-type": "application/json", **({"authorization": "Bearer " + TOKEN} if TOKEN else {})}
    while True:
        try:
            request = urllib.request.Request(URL + "/v1/work/" + path, json.dumps(body).encode(), headers)
            with urllib.request.urlopen(request, timeout=90) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code != 429:
                raise
        except OSError as error:
            print("Heddle does not answer:", error, flush=True)
        time.sleep(1)


def show_life(task, stop):
    while not stop.wait(LEASE_SECS / 3):
        try:
            call(task["id"] + "/heartbeat", {"attempt": task["attempt"]})
        except urllib.error.HTTPError:  # canceled, or somebody else's by now
            stop.set()


def run(task):
    stop = threading.Event()
    threading.Thread(target=show_life, args=(task, stop), daemon=True).start()
    try:
        verb, body = "complete", {"result": count_words(task["input"], stop)}
    except Exception as error:
        verb, body = "fail", {"reason": repr(error)[:1000]}
    if not stop.is_set():
        stop.set()
        try:
            call(task["id"] + "/" + verb, {"attempt": task["attempt"], **body})
        except urllib.error.HTTPError as error:
            print(task["id"], "was refused:", error.read().decode(), flush=True)


def count_words(given, stop):
    stop.wait(given.get("pause_secs", 0))  # long work looks at `stop` now and then
    return {"words": len(given["text"].split())}


while True:
    for task in call("claim", {"kinds": ["CountWords"], "lease_secs": LEASE_SECS, "wait_secs": 30})["tasks"]:
        run(task)
