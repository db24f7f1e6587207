import {
  accountFormSeal,
  type AccountNotice,
  accountSeal,
  type AccountSession,
  withNotice,
} from '../../core/sign-in/account-session.ts'
import { isDeviceCode } from '../../core/authorization/authorization-code.ts'
import type { BrowserBinding } from '../../core/sign-in/browser-seal.ts'
import { overviewOf } from '../../core/session/connection.ts'
import { findOwnGrant, type GrantChange, workspacesOf } from '../../core/session/grant-change.ts'
import type { Grant } from '../../core/session/grant.ts'
import {
  changeConnection,
  endAllConnections,
  endConnection,
  findClients,
  listRecords,
  listWaiting,
} from './connections.ts'
import { describeScope } from '../describe-scope.ts'
import { page, redirect } from '../response.ts'
import type { Endpoint } from '../endpoint.ts'
import {
  accountPath,
  bindingOf,
  type LoginPorts,
  toSignIn,
  type LoginVisit,
  visitorOf,
} from '../login/login-subject.ts'
import { renderLogin, showMessage } from '../login/draw.ts'
import { createLoginEndpoint } from '../login/sign-in-form.ts'
import { boxViews } from '../login/scope-form.ts'
import { hasAllTokens, readTokenWish, tokenDays } from '../../core/tokens/personal-token.ts'
import { changePage } from '../pages/change-page.ts'
import { connectionsPage } from '../pages/connections-page.ts'
import type { Choice } from '../pages/form-page.ts'

/** More than users read; the most recently used ones are shown. */
const maxShown = 100
const maxEndedShown = 10

/**
 * `/account/connections`: GET shows the clients that can use the signed-in user's account, or asks for sign-in; POST ends one
 * connection or all of them, or handles the forms of the login page.
 *
 * The page shows what this server granted, without asking the provider: a connection whose sign-in has ended there is listed until
 * this server notices.
 */
export function createAccountEndpoint(ports: LoginPorts): Endpoint {
  return createLoginEndpoint('account', ports, showConnections, takeForm)
}

type Owner = NonNullable<ReturnType<typeof findOwner>>

/** Finds the user who signed in to this page, in the browser with the CSRF value `binding`. */
function findOwner({ request, ports }: LoginVisit) {
  const binding = ports.cookies.csrf.read(request)
  const opened = accountSeal.open(ports.cookies.account.read(request), binding, ports)
  return opened.kind === 'open' ? { session: opened.value, binding: opened.binding } : undefined
}

async function showConnections(visit: LoginVisit): Promise<Response> {
  const owner = findOwner(visit)
  if (owner) {
    const grantId = new URL(visit.request.url).searchParams.get('change')
    return grantId === null ? renderConnections(owner, visit) : showChange(grantId, owner, visit)
  }
  const visitor = visitorOf(bindingOf(visit), visit)
  return renderLogin(toSignIn({ kind: 'account', visitor }, visit))
}

async function showChange(
  grantId: string,
  { session, binding }: Owner,
  visit: LoginVisit,
): Promise<Response> {
  const { language, ports } = visit
  const grant = await findOwnGrant(grantId, session.userId, ports)
  if (!grant) return backWith('already_ended', { session, binding }, visit)
  const listed = await findClients([{ grant }], language, ports)
  const html = changePage({
    ...ports.app,
    language,
    action: accountPath(ports),
    form: accountFormSeal.seal(session.id, binding, ports),
    connectionId: grant.id,
    client: listed(grant).client,
    scopes: boxesOf(ports.scopes.optionalOf(grant.scope), true, visit),
    workspaces: await workspacesOf(grant, ports),
    workspace: grant.workspace,
  })
  const headers = { 'set-cookie': ports.cookies.csrf.write(binding) }
  return page(html, { language, look: ports.app.look }, 200, headers)
}

function boxesOf(
  optional: readonly string[],
  ticked: boolean,
  { language, ports: { scopes } }: LoginVisit,
): Choice[] {
  return boxViews(
    optional.map((scope) => ({ scope, ticked })),
    scopes,
    language,
  )
}

async function renderConnections({ session, binding }: Owner, visit: LoginVisit): Promise<Response> {
  const { language, ports } = visit
  const { workspaces, scopes } = ports
  const now = ports.runtime.now()
  // In this order, a connection that is redeemed in between appears in both lists, not in neither.
  const waiting = await listWaiting(session.userId, ports)
  const overview = overviewOf(await listRecords(session.userId, ports), now)
  const shown = overview.live.slice(0, maxShown)
  const ended = overview.ended.slice(0, maxEndedShown)
  const listed = await findClients([...shown, ...ended, ...waiting], language, ports)
  const permissionsOf = (grant: Grant): string[] => describeScope(grant.scope, scopes, language)
  const html = connectionsPage({
    ...ports.app,
    language,
    action: accountPath(ports),
    connectPath: `${ports.urls.basePath}/mcp`,
    form: accountFormSeal.seal(session.id, binding, ports),
    email: session.email,
    notice: session.notice,
    connections: shown.map((record) => ({
      ...record,
      ...listed(record.grant),
      permissions: permissionsOf(record.grant),
      canChange: workspaces !== undefined || scopes.optionalOf(record.grant.scope).length > 0,
    })),
    waiting: waiting.map((code) => ({
      grant: code.grant,
      client: listed(code.grant).client,
      permissions: permissionsOf(code.grant),
      isDevice: isDeviceCode(code),
    })),
    tokens: ports.personalTokens
      ? { days: tokenDays, scopes: boxesOf(scopes.optional, false, visit) }
      : undefined,
    more: overview.live.length - shown.length,
    ended: ended.map(({ grant, endedAt, end }) => ({ client: listed(grant).client, endedAt, end })),
    now,
  })
  const answer = page(html, { language, look: ports.app.look }, 200, {
    'set-cookie': ports.cookies.csrf.write(binding),
  })
  // Shown once.
  if (session.notice)
    answer.headers.append('set-cookie', sessionCookie({ ...session, notice: undefined }, binding, ports))
  return answer
}

const changeNotices: Readonly<Record<GrantChange['kind'], AccountNotice>> = {
  gone: 'already_ended',
  changed: 'changed',
  unchanged: 'changed',
  scope: 'change_refused',
  workspace: 'change_refused',
  unavailable: 'not_changed',
}

async function takeForm(fields: URLSearchParams, visit: LoginVisit): Promise<Response> {
  const { context, ports } = visit
  const owner = findOwner(visit)
  // Signed out meanwhile, or after an hour: the page asks for sign-in.
  if (!owner) return redirect(accountPath(ports))
  const { session, binding } = owner
  const form = accountFormSeal.open(fields.get('form'), binding, ports)
  if (form.kind !== 'open' || form.value !== session.id) {
    return backWith('form_refused', owner, visit)
  }
  const connection = fields.get('connection') ?? ''
  switch (fields.get('action')) {
    case 'end': {
      const ended = await endConnection(connection, session.userId, context, ports)
      return backWith(ended ? 'ended' : 'already_ended', owner, visit, ended)
    }
    case 'change': {
      const wanted = { scope: fields.getAll('scope'), workspaceId: fields.get('workspace') ?? undefined }
      const { kind, grant } = await changeConnection(connection, session.userId, wanted, context, ports)
      return backWith(changeNotices[kind], owner, visit, grant)
    }
    case 'make_token':
      return startToken(fields, owner, visit)
    case 'end_all':
      await endAllConnections(session, context, ports)
      return backWith('all_ended', owner, visit)
    case 'sign_out':
      return signOut(visit)
    default:
      return backWith('form_refused', owner, visit)
  }
}

/**
 * Redirects to the list, which shows `notice` once, about the client of `grant`. The notice travels in the sealed session, so a link
 * cannot make the page show it.
 */
async function backWith(
  notice: AccountNotice,
  { session, binding }: Owner,
  { language, ports }: LoginVisit,
  grant?: Grant,
): Promise<Response> {
  const clientName = grant && (await findClients([{ grant }], language, ports))(grant).client.name
  return redirect(accountPath(ports), {
    'set-cookie': sessionCookie(withNotice(session, notice, clientName), binding, ports),
  })
}

/** Asks for a fresh sign-in, with its second factor, which then makes the token. */
async function startToken(fields: URLSearchParams, owner: Owner, visit: LoginVisit): Promise<Response> {
  const posted = { name: fields.get('name'), scopes: fields.getAll('scope'), days: fields.get('days') }
  const token = readTokenWish(posted, visit.ports.scopes.optional)
  if (!visit.ports.personalTokens || !token) return backWith('token_refused', owner, visit)
  const { userId } = owner.session
  if (await hasAllTokens(userId, visit.ports)) return backWith('too_many_tokens', owner, visit)
  const visitor = visitorOf(owner.binding, visit)
  return renderLogin(toSignIn({ kind: 'account', token, visitor }, visit))
}

function signOut(visit: LoginVisit): Response {
  const { language, ports } = visit
  const { common, finished } = language.texts
  return showMessage(
    visit,
    {
      title: finished.signedOut,
      bridge: 'raised',
      message: finished.signedOutMessage,
      nextStep: common.closePage,
      link: { url: accountPath(ports), label: finished.signInAgain },
    },
    { 'set-cookie': ports.cookies.account.clear() },
  )
}

function sessionCookie(session: AccountSession, binding: BrowserBinding, ports: LoginPorts): string {
  return ports.cookies.account.write(accountSeal.seal(session, binding, ports, session.expiresAt))
}
