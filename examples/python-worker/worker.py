"""A worker of Heddle in Python 3, standard library only: HEDDLE_URL=… HEDDLE_TOKEN=… python3 worker.py"""
import json, os, secrets, socket, threading, time, urllib.error, urllib.request
URL, TOKEN = os.environ.get("HEDDLE_URL", "http://127.0.0.1:8085"), os.environ.get("HEDDLE_TOKEN")
LEASE_SECS = int(os.environ.get("LEASE_SECS", "60"))
HOLDER = f"{socket.gethostname()[:100]} {secrets.token_hex(8)}"  # keeps other workers with the same token from reporting

def call(path, body):  # retries until there is a response; raises rejections
    headers = {"content-type": "application/json", **({"authorization": "Bearer " + TOKEN} if TOKEN else {})}
    while True:
        try:
            request = urllib.request.Request(URL + "/v1/work/" + path, json.dumps(body).encode(), headers)
            return json.load(urllib.request.urlopen(request, timeout=90))
        except OSError as error:
            if getattr(error, "code", 500) < 500 and error.code != 429: raise
            time.sleep(1)

def report(task, verb, stop, **body):  # reports nothing more about a task that was canceled or requeued
    try: return None if stop.is_set() else call(f"{task['id']}/{verb}", {"attempt": task["attempt"], "holder": HOLDER, **body})
    except urllib.error.HTTPError: stop.set()

def send_heartbeats(task, stop):
    while not stop.wait(LEASE_SECS / 3): report(task, "heartbeat", stop)
def count_words(given, stop):  # the work itself; long work should check `stop` regularly
    stop.wait(given.get("pause_secs", 0))
    return {"words": len(given["text"].split())}
while True:
    for task in call("claim", {"kinds": ["CountWords"], "holder": HOLDER, "lease_secs": LEASE_SECS, "wait_secs": 30})["tasks"]:
        threading.Thread(target=send_heartbeats, args=(task, stop := threading.Event()), daemon=True).start()
        try: report(task, "complete", stop, result=count_words(task["input"], stop))
        except Exception as error: report(task, "fail", stop, reason=repr(error)[:1000])
        stop.set()
