"""What a web app needs of Drawbridge, whatever its framework is. Only its server may have the secret."""

import json
import os
import time
import uuid
from html import escape
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import jwt

DOOR = os.environ["DRAWBRIDGE_BASE_URL"]
SESSION_URL = os.environ.get("DRAWBRIDGE_SESSION_URL")
SECRET = os.environ["DRAWBRIDGE_SIGN_IN_SECRET"]


def _sign(kind, sub, about=None):
    now = int(time.time())
    claims = {"aud": DOOR, "sub": str(sub), "iat": now, "exp": now + 60, "jti": str(uuid.uuid4())}
    headers = {"typ": f"drawbridge-{kind}+jwt"}
    return jwt.encode({**(about or {}), **claims}, SECRET, algorithm="HS256", headers=headers)


def _call(path, bearer=None, body=None):
    headers = {"content-type": "application/json"}
    if bearer:
        headers["authorization"] = f"Bearer {bearer}"
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(DOOR + path, data=data, headers=headers), timeout=10) as response:
            return json.loads(response.read() or "{}")
    except HTTPError as error:
        return json.loads(error.read())


def describe(request):
    """Describes the request that brought the browser to the page: who asks, and for what."""
    return _call(f"/oauth/app?request={quote(request, safe='')}")


def answer(request, allow, about):
    """Answers for a user who is signed in here, after their click. Returns where the browser goes next."""
    said = _call("/oauth/app", _sign("user", about["sub"], about), {"request": request, "allow": allow})
    if "redirect_to" not in said:
        raise ValueError(said["error_description"])
    return said["redirect_to"]


def asked_user(authorization):
    """Returns whom Drawbridge asks about at SESSION_URL; None if it is not Drawbridge that asks."""
    token = (authorization or "").removeprefix("Bearer ")
    try:
        if jwt.get_unverified_header(token).get("typ") != "drawbridge-session+jwt":
            return None
        return jwt.decode(token, SECRET, algorithms=["HS256"], audience=SESSION_URL)["sub"]
    except jwt.InvalidTokenError:
        return None


def end_connections(sub):
    """Ends all connections of a user at once."""
    said = _call("/oauth/app/end", _sign("end", sub), {})
    if "error" in said:
        raise ValueError(said["error_description"])


def page(asked, request, fields=""):
    """The page of SIGN_IN_URL. The click on it is the consent: never answer without it."""
    if "error" in asked:
        return f"<!doctype html><title>Connect</title><p>{escape(asked['error_description'])}</p>"
    sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in asked["sentences"])
    scopes = "".join(f"<li>{escape(scope['text'])}</li>" for scope in asked["scopes"])
    return f"""<!doctype html><meta name="viewport" content="width=device-width"><title>Connect</title>
{sentences}<ul>{scopes}</ul>
<form method="post">{fields}<input type="hidden" name="request" value="{escape(request)}">
<button name="allow" value="yes">Allow</button> <button name="allow" value="no">Deny</button></form>"""


# Keep other sites from showing the page in a frame, where a click on it would not be meant.
PAGE_HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
}
