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

/** A sign-in that waits for this page, as Drawbridge describes it: the part that the page shows. */
interface Asked {
  purpose: 'client' | 'device' | 'connections'
  sentences: readonly string[]
  scopes: readonly { value: string; text: string; fixed: boolean }[]
}

/** Why Drawbridge took no answer. The description is in the language of the browser. */
interface Refused {
  error_description: string
  workspaces?: readonly { id: string; name: string }[]
}

interface ConnectForm {
  email: string
  request: string
  asked: Asked | Refused
  refused?: Refused | undefined
  /** Boxes that were left ticked; undefined: all. */
  ticked?: readonly string[]
}

/** Returns where the browser goes after a sign-in: back to the page of {@link createConnectRoutes} if it came from there. */
export function afterSignIn(c: Context): string {
  const request = getCookie(c, requestCookie)
  return request === undefined ? '/notes' : connectPath(request)
}

const connectPath = (request: string): string => `/connect?request=${encodeURIComponent(request)}`

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
  const call = (query: string, init: RequestInit = {}, token = ''): Promise<Response> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const request = new Request(`${baseUrl}/oauth/app${query}`, { ...init, headers })
    return runtime.fetch(request, { signal: AbortSignal.timeout(maxCallMs) })
  }
  const showForm = async (c: Context, form: Omit<ConnectForm, 'asked'>): Promise<Response> => {
    const response = await call(`?request=${encodeURIComponent(form.request)}`)
    const asked = (await response.json()) as ConnectForm['asked']
    const status = form.refused || !response.ok ? 400 : 200
    return show(c, (view) => connectPage(view, { ...form, asked }), status)
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
    if (!visitor) return c.redirect(connectPath(request), 303)
    const ticked = form.getAll('scope')
    const workspace = form.get('workspace') ?? undefined
    // Nothing but this click allows: the page never answers by itself.
    const answer = { request, allow: form.get('answer') === 'allow', scope: ticked.join(' '), workspace }
    const body = JSON.stringify(answer)
    const response = await call('', { method: 'POST', body }, visitor.accessToken)
    const result = (await response.json()) as Refused & { redirect_to?: string }
    if (result.redirect_to !== undefined) return c.redirect(result.redirect_to, 303)
    return showForm(c, { email: visitor.account.email, request, refused: result, ticked })
  })
  return routes
}

function connectPage(view: DemoView, { email, request, asked, refused, ticked }: ConnectForm): string {
  const { connect: texts, notes } = view.texts
  const who = fillHtml(notes.signedIn, { email: html`<bdi>${email}</bdi>` })
  if (!('sentences' in asked)) {
    const main = aloneLink('/notes', notes.title)
    return appPage(view, { title: texts.title, about: who, error: asked.error_description, main })
  }
  const { purpose, sentences, scopes } = asked
  const boxes = scopes.flatMap(({ value: scope, text, fixed }) =>
    fixed ? [] : [{ scope, text, ticked: ticked?.includes(scope) ?? true }],
  )
  const fixed = scopes.flatMap((scope) => (scope.fixed ? [scope.text] : []))
  const title = purpose === 'connections' ? texts.connections : texts.title
  return appPage(view, {
    title,
    about: who,
    gate: html`${sentences.map((sentence) => html`<p class="ask">${sentence}</p>`)}
    ${gateList(texts.allows, fixed)}`,
    error: refused?.error_description,
    main: html`<form class="stack" method="post" action="/connect">
      <input type="hidden" name="request" value="${request}" />
      ${boxes.length > 0 && scopeBoxes(boxes, view.language)}
      ${refused?.workspaces && workspaceChoice(refused.workspaces, undefined, view.language)}
      <button class="button primary deliberate" name="answer" value="allow">
        ${purpose === 'connections' ? texts.show : texts.allow}
      </button>
      <button class="button plain" name="answer" value="deny" formnovalidate>${texts.deny}</button>
    </form>`,
  })
}
