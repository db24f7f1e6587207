import { html } from '@drawbridge/shared/html.ts'
import { type Context, Hono } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { aloneLink, gateList } from '../../http/pages/layout.ts'
import { scopeBoxes, workspaceChoice } from '../../http/pages/sign-in-choices.ts'
import { fillHtml } from '../../texts/text.ts'
import type { AuthServices } from '../provider/auth-services.ts'
import type { BrowserSessions } from './browser-session.ts'
import { appPage, type DemoView, type ShowPage } from './page.ts'

const maxCallMs = 10_000
const requestCookie = 'fieldnotes-request'

/** An answer of `/oauth/app`, in the language of the browser: the request, where the browser goes next, or a refusal. */
interface AppAnswer {
  purpose?: 'client' | 'device' | 'connections'
  sentences?: readonly string[]
  scopes?: readonly { value: string; text: string; fixed: boolean }[]
  redirect_to?: string
  error_description?: string
  workspaces?: readonly { id: string; name: string }[]
}

interface ConnectForm extends AppAnswer {
  email: string
  request: string
  /** Boxes that were left ticked; undefined: all. */
  ticked?: readonly string[] | undefined
}

/** Returns where the browser goes after a sign-in: back to the page of {@link createConnectRoutes} if it came from there. */
export function afterSignIn(c: Context): string {
  const request = getCookie(c, requestCookie)
  return request === undefined ? '/notes' : `/connect${queryOf(request)}`
}

const queryOf = (request: string): string => `?request=${encodeURIComponent(request)}`

/**
 * Creates the page where users allow an assistant, relative to `/connect`, as a web app would build it without scripts: SIGN_IN_URL
 * names it, and its server makes the two calls of `/oauth/app` below `baseUrl`.
 */
export function createConnectRoutes(
  baseUrl: string,
  { runtime }: AuthServices,
  sessions: BrowserSessions,
  show: ShowPage,
): Hono {
  const routes = new Hono()
  const call = async (query: string, init: RequestInit = {}): Promise<AppAnswer> => {
    const request = new Request(`${baseUrl}/oauth/app${query}`, init)
    const response = await runtime.fetch(request, { signal: AbortSignal.timeout(maxCallMs) })
    return (await response.json()) as AppAnswer
  }
  const showForm = async (c: Context, form: ConnectForm): Promise<Response> => {
    const shown = { ...(await call(queryOf(form.request))), ...form }
    return show(c, (view) => connectPage(view, shown), shown.error_description === undefined ? 200 : 400)
  }

  routes.get('/', async (c) => {
    const request = c.req.query('request') ?? ''
    const visitor = await sessions.visitor(c)
    if (visitor) {
      deleteCookie(c, requestCookie)
      return showForm(c, { email: visitor.account.email, request })
    }
    setCookie(c, requestCookie, request, { httpOnly: true, sameSite: 'Lax', maxAge: 600 })
    return c.redirect('/', 303)
  })
  routes.post('/', async (c) => {
    const form = new URLSearchParams(await c.req.text())
    const request = form.get('request') ?? ''
    const visitor = await sessions.visitor(c)
    if (!visitor) return c.redirect(`/connect${queryOf(request)}`, 303)
    const ticked = form.getAll('scope')
    const workspace = form.get('workspace') ?? undefined
    // Nothing but this click allows: the page never answers by itself.
    const answer = { request, allow: form.get('answer') === 'allow', scope: ticked.join(' '), workspace }
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${visitor.accessToken}` }
    const result = await call('', { method: 'POST', headers, body: JSON.stringify(answer) })
    if (result.redirect_to !== undefined) return c.redirect(result.redirect_to, 303)
    return showForm(c, { ...result, email: visitor.account.email, request, ticked })
  })
  return routes
}

function connectPage(view: DemoView, form: ConnectForm): string {
  const { connect: texts, notes } = view.texts
  const { email, request, purpose, sentences = [], scopes = [], workspaces, ticked } = form
  const boxes = scopes
    .filter(({ fixed }) => !fixed)
    .map(({ value, text }) => ({ value, text, ticked: ticked?.includes(value) ?? true }))
  const allows = scopes.filter(({ fixed }) => fixed).map(({ text }) => text)
  return appPage(view, {
    title: purpose === 'connections' ? texts.connections : texts.title,
    about: fillHtml(notes.signedIn, { email: html`<bdi>${email}</bdi>` }),
    gate: html`${sentences.map((sentence) => html`<p class="ask">${sentence}</p>`)}
    ${gateList(texts.allows, allows)}`,
    error: form.error_description,
    main:
      purpose === undefined
        ? aloneLink('/notes', notes.title)
        : html`<form class="stack" method="post" action="/connect">
            <input type="hidden" name="request" value="${request}" />
            ${scopeBoxes(boxes, view.language)}
            ${workspaces && workspaceChoice(workspaces, undefined, view.language)}
            <button class="button primary deliberate" name="answer" value="allow">
              ${purpose === 'connections' ? texts.show : texts.allow}
            </button>
            <button class="button plain" name="answer" value="deny" formnovalidate>${texts.deny}</button>
          </form>`,
  })
}
