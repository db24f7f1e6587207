"""Django with its own accounts and sessions, in one file."""

import os
from wsgiref.simple_server import make_server

import django
from django.conf import settings

settings.configure(
    SECRET_KEY=os.environ["APP_SECRET"],
    ALLOWED_HOSTS=["localhost", "127.0.0.1"],
    ROOT_URLCONF=__name__,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    LOGIN_URL="/log-in",
    USE_TZ=True,
)
django.setup()

from django.contrib.auth import get_user_model, login, logout
from django.contrib.auth.decorators import login_required
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.middleware.csrf import get_token
from django.urls import path
from django.utils.html import escape
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from drawbridge import PAGE_HEADERS, answer, asked_user, describe, end_connections, page

User = get_user_model()


def csrf_field(request):
    return f'<input type="hidden" name="csrfmiddlewaretoken" value="{get_token(request)}">'


@require_GET
def log_in(request):
    following = escape(request.GET.get("next", "/"))
    return HttpResponse(f"""<form method="post" action="/sign-up">{csrf_field(request)}<input name="email">
<input name="password" type="password"><input type="hidden" name="next" value="{following}"><button name="sign_up">Sign up</button></form>""")


@require_POST
def sign_up(request):
    email, following = request.POST["email"], request.POST.get("next", "/")
    login(request, User.objects.create_user(email, email, request.POST["password"]))
    allowed = url_has_allowed_host_and_scheme(following, {request.get_host()})
    return HttpResponseRedirect(following if allowed else "/", status=303)


# Drawbridge: the page of SIGN_IN_URL, SESSION_URL, and the end.
def about(user):
    groups = list(user.groups.values_list("name", flat=True))
    return {"sub": str(user.pk), "email": user.email, "email_verified": False, "claims": {"groups": groups}}


@login_required
def connect(request):
    if request.method == "POST":
        allow = request.POST["allow"] == "yes"
        return HttpResponseRedirect(answer(request.POST["request"], allow, about(request.user)), status=303)
    asked = request.GET.get("request", "")
    return HttpResponse(page(describe(asked), asked, csrf_field(request)), headers=PAGE_HEADERS)


@require_GET
def session(request):
    sub = asked_user(request.headers.get("authorization"))
    if sub is None:
        return HttpResponse(status=401)
    user = User.objects.filter(pk=sub, is_active=True).first() if sub.isdecimal() else None
    return JsonResponse(about(user)) if user else HttpResponse(status=404)


@login_required
@require_POST
def close_account(request):
    sub = request.user.pk
    request.user.delete()
    end_connections(sub)
    logout(request)
    return HttpResponseRedirect("/log-in", status=303)


urlpatterns = [
    path("log-in", log_in),
    path("sign-up", sign_up),
    path("connect", connect),
    path("api/session", session),
    path("close-account", close_account),
]

if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    make_server("127.0.0.1", int(os.environ["PORT"]), get_wsgi_application()).serve_forever()
