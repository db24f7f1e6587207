"""FastAPI with Starlette's SessionMiddleware."""

import hashlib
import os
import re
import uuid
from html import escape
from urllib.parse import quote

import uvicorn
from fastapi import FastAPI, Form, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from starlette.middleware.sessions import SessionMiddleware

from drawbridge import PAGE_HEADERS, answer, asked_user, describe, end_connections, page

app = FastAPI()
app.add_middleware(SessionMiddleware, secret_key=os.environ["APP_SECRET"], same_site="lax")
users = {}  # Stands for the accounts that the app has already.


def hashed(password, salt):
    return hashlib.scrypt(password.encode(), salt=salt, n=16384, r=8, p=1)


def current_user(request: Request):
    return users.get(request.session.get("user"))


@app.get("/log-in")
def log_in_page(next: str = "/"):
    return HTMLResponse(f"""<form method="post" action="/sign-up"><input name="email"><input name="password" type="password">
<input type="hidden" name="next" value="{escape(next)}"><button name="sign_up">Sign up</button></form>""")


@app.post("/sign-up")
def sign_up(request: Request, email: str = Form(), password: str = Form(), next: str = Form("/")):
    salt = os.urandom(16)
    user = {"id": str(uuid.uuid4()), "email": email, "salt": salt, "hash": hashed(password, salt)}
    users[user["id"]] = user
    request.session["user"] = user["id"]
    return RedirectResponse(next if re.match(r"/(?![/\\])", next) else "/", 303)


# Drawbridge: the page of SIGN_IN_URL, SESSION_URL, and the end.
def about(user):
    return {"sub": user["id"], "email": user["email"], "email_verified": False}


@app.get("/connect")
def connect_page(http: Request, request: str):
    if current_user(http) is None:
        return RedirectResponse(f"/log-in?next={quote(f'/connect?request={quote(request)}', safe='')}", 303)
    return HTMLResponse(page(describe(request), request), headers=PAGE_HEADERS)


@app.post("/connect")
def connect(http: Request, request: str = Form(), allow: str = Form()):
    return RedirectResponse(answer(request, allow == "yes", about(current_user(http))), 303)


@app.get("/api/session")
def session(http: Request):
    sub = asked_user(http.headers.get("authorization"))
    if sub is None:
        return Response(status_code=401)
    return JSONResponse(about(users[sub])) if sub in users else Response(status_code=404)


@app.post("/close-account")
def close_account(http: Request):
    user = users.pop(http.session.pop("user"))
    end_connections(user["id"])
    return RedirectResponse("/log-in", 303)


uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="warning")
