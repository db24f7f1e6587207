import {
  type AccountNotice,
  type AccountSession,
  isAccountForm,
  openAccountSession,
  sealAccountForm,
  sealAccountSession,
  withNotice,
} from '../../core/sign-in/account-session.ts'
import { isDeviceCode } from '../../core/authorization/authorization-code.ts'
import type { BrowserBinding } from '../../core/sign-in/sign-in-transaction.ts'
import { overviewOf } from '../../core/session/connection.ts'
import {
  type AccountPorts,
  type AccountRequest,
  createClientNames,
  endAllConnections,
  endConnection,
  listRecords,
  listWaiting,
} from './connections.ts'
import { page, redirect } from '../response.ts'
import type { Endpoint } from '../endpoint.ts'
import { accountPath, bindingOf, visitorOf } from '../login/login-subject.ts'
import { takeOwnForm } from '../login/decide.ts'
import { renderLogin } from '../login/draw.ts'
import { connectionsPage } from '../pages/connections-page.ts'
import { messagePage } from '../pages/finished-page.ts'
import { loginHandler } from '../login/error-page.ts'

/** More than users read; the most recently used ones are shown. */
const maxShown = 100
const maxEndedShown = 10

const noticeTexts: Readonly<Record<AccountNotice, { text: string; isFailure: boolean }>> = {
  ended: { text: 'is no longer connected. To use it again, connect it from there.', isFailure: false },
  all_ended: { text: 'All connections ended.', isFailure: false },
  already_ended: { text: 'The connection had already ended.', isFailure: false },
  form_refused: {
    text: 'Nothing was changed, because that page was out of date. Try again here.',
    isFailure: true,
  },
}

/**
 * `/account/connections`: GET shows the clients that can use the signed-in user's account, or asks for sign-in; POST ends one
 * connection or all of them, or handles the forms of the login page.
 *
 * The page shows what this server granted, without asking the provider: a connection whose sign-in has ended there is listed until
 * this server notices.
 */
export function createAccountEndpoint(ports: AccountPorts): Endpoint {
  return {
    path: accountPath(ports),
    cors: 'none',
    methods: {
      GET: loginHandler(ports, showConnections),
      POST: loginHandler(ports, (login) => takeOwnForm(login, takeForm)),
    },
  }
}

interface Visit {
  session: AccountSession
  binding: BrowserBinding
}

function findVisit(login: AccountRequest): Visit | undefined {
  const binding = login.cookies.csrf.read(login.request)
  const session = openAccountSession(login.cookies.account.read(login.request), binding, login.signIn)
  return session && binding !== undefined ? { session, binding } : undefined
}

async function showConnections(login: AccountRequest): Promise<Response> {
  const visit = findVisit(login)
  if (visit) return renderConnections(visit, login)
  const visitor = visitorOf(bindingOf(login), login)
  return renderLogin({ kind: 'account', visitor }, {}, login)
}

async function renderConnections({ session, binding }: Visit, login: AccountRequest): Promise<Response> {
  const now = login.signIn.runtime.now()
  // In this order, a connection that is redeemed in between appears in both lists, not in neither.
  const waiting = await listWaiting(session.userId, login)
  const overview = overviewOf(await listRecords(session.userId, login), now)
  const shown = overview.live.slice(0, maxShown)
  const ended = overview.ended.slice(0, maxEndedShown)
  const clients = await createClientNames([...shown, ...ended, ...waiting], login)
  const html = connectionsPage({
    action: accountPath(login),
    connectPath: `${login.urls.basePath}/mcp`,
    form: sealAccountForm(session, binding, login.signIn),
    email: session.email,
    notice: session.notice && { ...noticeTexts[session.notice.kind], about: session.notice.clientName },
    connections: shown.map(({ grant, lastUse, twoAddresses, replays }) => ({
      id: grant.id,
      client: clients.nameOf(grant.clientId),
      returnsTo: clients.returnsToOf(grant.clientId),
      permissions: login.codes.scopes.describe(grant.scope),
      createdAt: grant.createdAt,
      lastUse: lastUse && { at: lastUse.usedAt, address: lastUse.address, tool: lastUse.tool },
      twoAddresses,
      runsOnWeb: clients.runsOnWeb(grant.clientId),
      replays,
      expiresAt: grant.expiresAt,
    })),
    waiting: waiting.map((code) => ({
      id: code.grant.id,
      client: clients.nameOf(code.grant.clientId),
      isDevice: isDeviceCode(code),
      permissions: login.codes.scopes.describe(code.grant.scope),
      allowedAt: code.grant.createdAt,
    })),
    more: overview.live.length - shown.length,
    ended: ended.map(({ grant, endedAt, end }) => ({
      client: clients.nameOf(grant.clientId),
      endedAt,
      end,
    })),
    now,
    appName: login.appName,
    appUrl: login.appUrl,
    links: login.links,
  })
  const answer = page(html, 200, { 'set-cookie': login.cookies.csrf.write(binding) })
  // Shown once.
  if (session.notice)
    answer.headers.append('set-cookie', sessionCookie({ ...session, notice: undefined }, binding, login))
  return answer
}

async function takeForm(fields: URLSearchParams, login: AccountRequest): Promise<Response> {
  const visit = findVisit(login)
  // Signed out meanwhile, or after an hour: the page asks for sign-in.
  if (!visit) return redirect(accountPath(login))
  const { session, binding } = visit
  if (!isAccountForm(fields.get('form') ?? '', session, binding, login.signIn)) {
    return backWith('form_refused', visit, login)
  }
  switch (fields.get('action')) {
    case 'end': {
      const ended = await endConnection(fields.get('connection') ?? '', session, login)
      if (!ended) return backWith('already_ended', visit, login)
      const clients = await createClientNames([{ grant: ended }], login)
      return backWith('ended', visit, login, clients.nameOf(ended.clientId).name)
    }
    case 'end_all':
      await endAllConnections(session, login)
      return backWith('all_ended', visit, login)
    case 'sign_out':
      return signOut(login)
    default:
      return backWith('form_refused', visit, login)
  }
}

/**
 * Redirects to the list, which shows `notice` once. The notice travels in the sealed session, so a link cannot make the page
 * show it.
 */
function backWith(
  notice: AccountNotice,
  { session, binding }: Visit,
  login: AccountRequest,
  clientName?: string,
): Response {
  return redirect(accountPath(login), {
    'set-cookie': sessionCookie(withNotice(session, notice, clientName), binding, login),
  })
}

function signOut(login: AccountRequest): Response {
  const view = {
    title: 'You’re signed out of this page',
    bridge: 'raised',
    message: `This browser can no longer see or end your connections. The connections themselves stay active.`,
    nextStep: 'You can close this page.',
    link: { url: accountPath(login), label: 'Sign in again' },
  } as const
  return page(messagePage(view), 200, { 'set-cookie': login.cookies.account.clear() })
}

function sessionCookie(session: AccountSession, binding: BrowserBinding, login: AccountRequest): string {
  return login.cookies.account.write(sealAccountSession(session, binding, login.signIn))
}
