import type { AccessAllowed, AccessDecision } from '../../core/access/access-rules.ts'
import type { AccessControl } from '../../core/access/access-control.ts'
import {
  type AccountNotice,
  accountSeal,
  createAccountSession,
  withNotice,
} from '../../core/sign-in/account-session.ts'
import { issueAuthorizationCode } from '../../core/authorization/authorization-code.ts'
import { approveDevice, denyDevice } from '../../core/authorization/device-authorization.ts'
import { accountOf, rememberAccount, sealKnownAccounts } from '../../core/sign-in/device-cookie.ts'
import type { FirstStep } from '../../core/sign-in/second-factor-step.ts'
import { ProviderError, type SignIn } from '../../core/session/session-provider.ts'
import { endUnusedSession, keepOrSignOut } from '../../core/sign-in/sign-in-orphan.ts'
import type { CompletedSignIn, WorkspaceChoice } from '../../core/sign-in/workspace-step.ts'
import { limitScope } from '../../core/tokens/scope.ts'
import type { RequestContext } from '../endpoint.ts'
import { makePersonalToken, type TokenWish } from '../../core/tokens/personal-token.ts'
import { tokenPage } from '../pages/token-page.ts'
import { page, redirect } from '../response.ts'
import { answerClient } from './authorization-response.ts'
import { renderLogin, renderSecondFactor, showMessage } from './draw.ts'
import { LoginError } from './login-error.ts'
import { grantedScope, type WantedGrant, wantedGrant, withChoice } from './scope-form.ts'
import { accountPath, type ClientSubject, type LoginVisit, type SignInVisit } from './login-subject.ts'
import { chooseWorkspace } from './workspace-choice.ts'

/** Continues after a successful first step: completes the sign-in, or asks for a code. */
export async function continueLogin(step: FirstStep, visit: SignInVisit): Promise<Response> {
  if (step.kind === 'signed_in') return completeLogin(visit, step)
  const { subject, context } = visit
  context.report('second_factor_asked', { client_id: subject.client?.id })
  return renderSecondFactor(visit, step.prompt)
}

/**
 * Completes a sign-in: the client gets its code, the device is approved, or the user sees their connections. A device cookie
 * records the account, so that failed attempts elsewhere cannot lock this browser out of it: by its email address, and by `account`
 * if attempts were counted by something else. Without a choice, the user is asked for a workspace if they have several.
 */
export async function completeLogin(visit: SignInVisit, completed: CompletedSignIn): Promise<Response> {
  const { signIn, account } = completed
  const answer = await complete(visit, completed)
  const { email } = signIn.identity
  const names = [account, email === undefined ? undefined : accountOf(email)]
  const accounts = new Set(names.filter((name) => name !== undefined))
  if (accounts.size === 0) return answer
  const { subject, ports } = visit
  const { provider, sealer, runtime } = ports
  const known = [...accounts].reduce(
    (all, name) => rememberAccount(all, name, provider.issuer, runtime),
    subject.visitor.knownAccounts,
  )
  answer.headers.append('set-cookie', ports.cookies.device.write(sealKnownAccounts(known, sealer)))
  return answer
}

async function complete(visit: SignInVisit, completed: CompletedSignIn): Promise<Response> {
  const { signIn } = completed
  const { subject, context, ports } = visit
  const wanted = wantedGrant(subject)
  // Users who may not connect may still see and end their connections.
  if (!wanted) return openAccount(visit, signIn)
  const { session, identity } = signIn
  const access = await keepOrSignOut(session, ports.provider, () =>
    decideAccess(signIn, wanted.clientId, ports.access, context),
  )
  if (access?.kind !== 'allowed') {
    await endUnusedSession(session, ports)
    if (!access) throw new LoginError('sign_in_unavailable')
    const { rule, reason } = access
    context.report('access_denied', { client_id: wanted.clientId, sub: identity.sub, rule, reason })
    return renderLogin(visit, { failure: { reason: 'not_allowed' } })
  }
  const choice =
    completed.choice ?? (await chooseWorkspace(completed, wanted, visit, { posted: wanted.workspaceId }))
  if (choice instanceof Response) return choice
  const done = await keepOrSignOut(session, ports.provider, () =>
    subject.kind === 'account'
      ? makeToken(wanted, subject.token, signIn, { ...access, ...choice }, visit)
      : allow(subject, signIn, { ...access, ...choice }, visit),
  )
  if (!done) {
    await endUnusedSession(session, ports)
    if (subject.kind === 'account') return openedAccount(visit, signIn, 'too_many_tokens')
    throw new LoginError('device_gone')
  }
  const fields = { client_id: wanted.clientId, sub: identity.sub }
  if (subject.kind === 'account') context.report('personal_token_made', fields)
  else if (subject.kind === 'authorization') context.report('signed_in', fields)
  else context.report('device_allowed', fields)
  return done
}

/** Applies the access rules. Returns undefined when the provider could not be asked. */
async function decideAccess(
  { identity }: SignIn,
  clientId: string,
  access: AccessControl,
  context: RequestContext,
): Promise<AccessDecision | undefined> {
  try {
    return await access.decide(identity.sub, access.profileOf({ kind: 'identity', identity }), clientId)
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    context.report('provider_failed', { failure: error.failure, message: error.message })
    return undefined
  }
}

/** Gives the client its code, or lets the device in. Returns undefined when the device no longer waits. */
async function allow(
  subject: ClientSubject,
  signIn: SignIn,
  { scopes, workspace }: AccessAllowed & WorkspaceChoice,
  visit: LoginVisit,
): Promise<Response | undefined> {
  const { ports } = visit
  const given = { scope: limitScope(grantedScope(subject), scopes), workspace }
  if (subject.kind === 'authorization') {
    const { request, client } = subject
    const asked = { ...request, ...given, replaces: subject.replaces }
    const { code, grantId } = await issueAuthorizationCode(asked, signIn, ports)
    const answer = answerClient(request, { code }, client, visit)
    return withChoice(answer, grantId, subject, visit)
  }
  const grantId = await approveDevice({ ...subject.device, ...given }, signIn, ports)
  if (grantId === undefined) return undefined
  const { common, finished } = visit.language.texts
  const answer = showMessage(visit, {
    title: finished.device,
    bridge: 'lowered',
    message: finished.deviceMessage,
    nextStep: finished.deviceNext,
    link: { url: accountPath(ports), label: common.seeConnections },
  })
  return withChoice(answer, grantId, subject, visit)
}

/** Makes a personal token and shows it. Returns undefined when the user has too many. */
async function makeToken(
  wanted: WantedGrant,
  wish: TokenWish | undefined,
  signIn: SignIn,
  { scopes, workspace }: AccessAllowed & WorkspaceChoice,
  visit: SignInVisit,
): Promise<Response | undefined> {
  const { language, ports } = visit
  const { name = '', days = 0 } = wish ?? {}
  const limited = { name, days, scope: limitScope(wanted.scope, scopes) }
  const of = { signIn, resource: ports.urls.resource, workspace }
  const made = await makePersonalToken(limited, of, ports)
  if (!made) return undefined
  const { token, grant } = made
  const view = { language, look: ports.app.look, links: ports.app.links }
  const shown = tokenPage({ ...view, name, token, expiresAt: grant.expiresAt, back: accountPath(ports) })
  return page(shown, view, 200, { 'set-cookie': accountCookie(visit, signIn) })
}

/** Ends the provider's session: the page shows what this server granted, and never asks the provider. */
async function openAccount(visit: SignInVisit, signIn: SignIn): Promise<Response> {
  await endUnusedSession(signIn.session, visit.ports)
  return openedAccount(visit, signIn)
}

function openedAccount(visit: SignInVisit, signIn: SignIn, notice?: AccountNotice): Response {
  visit.context.report('account_signed_in', { sub: signIn.identity.sub })
  return redirect(accountPath(visit.ports), { 'set-cookie': accountCookie(visit, signIn, notice) })
}

/** Starts the hour in which a user can manage their connections. */
function accountCookie(
  { subject, ports }: SignInVisit,
  { identity }: SignIn,
  notice?: AccountNotice,
): string {
  const session = createAccountSession(identity, ports.providerIssuer, ports.runtime)
  const account = notice ? withNotice(session, notice) : session
  return ports.cookies.account.write(
    accountSeal.seal(account, subject.visitor.binding, ports, account.expiresAt),
  )
}

/** Reports to the client or the device that the user refused, or that the access rules did if they came first. */
export async function refuseLogin(visit: SignInVisit, notAllowed = false): Promise<Response> {
  const { subject, context, ports, language } = visit
  switch (subject.kind) {
    case 'authorization': {
      const { request, client } = subject
      const description = notAllowed ? 'This account may not connect here.' : 'The user refused.'
      const outcome = { error: 'access_denied', description }
      context.report('authorization_denied', { client_id: client.id })
      return answerClient(request, outcome, client, visit)
    }
    case 'device': {
      const { device, client } = subject
      if (!(await denyDevice(device, ports))) throw new LoginError('device_gone')
      context.report('device_denied', { client_id: client.id })
      const { common, finished } = language.texts
      return showMessage(visit, {
        title: finished.denied,
        bridge: 'raised',
        message: finished.deviceDenied,
        nextStep: common.closePage,
      })
    }
    case 'account':
      return redirect(accountPath(ports))
  }
}
