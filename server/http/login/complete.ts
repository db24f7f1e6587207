import type { AccessAllowed, AccessDecision } from '../../core/access/access-rules.ts'
import { createAccountSession, sealAccountSession } from '../../core/sign-in/account-session.ts'
import { issueAuthorizationCode } from '../../core/authorization/authorization-code.ts'
import { approveDevice, denyDevice } from '../../core/authorization/device-authorization.ts'
import { accountOf, rememberAccount, sealKnownAccounts } from '../../core/sign-in/device-cookie.ts'
import { type Identity, ProviderError, type SignIn } from '../../core/session/session-provider.ts'
import { endUnusedSession, keepOrSignOut } from '../../core/sign-in/sign-in-orphan.ts'
import { limitScope } from '../../core/tokens/scope.ts'
import { page, redirect } from '../response.ts'
import { answerClient } from './authorization-response.ts'
import { messagePage } from '../pages/finished-page.ts'
import { renderLogin } from './draw.ts'
import { signInErrorPage } from './error-page.ts'
import { accountPath, type Login, type LoginSubject } from './login-subject.ts'

type SubjectOf<Kind extends LoginSubject['kind']> = Extract<LoginSubject, { kind: Kind }>

/**
 * Completes a sign-in: the client gets its code, the device is approved, or the user sees their connections. A device cookie
 * records the account, so that failed attempts elsewhere cannot lock this browser out of it: by its email address, and by `account`
 * if attempts were counted by something else.
 */
export async function completeLogin(
  subject: LoginSubject,
  { signIn, account }: { signIn: SignIn; account?: string },
  login: Login,
): Promise<Response> {
  const answer = await complete(subject, signIn, login)
  const { email } = signIn.identity
  const names = [account, email === undefined ? undefined : accountOf(email)]
  const accounts = new Set(names.filter((name) => name !== undefined))
  if (accounts.size === 0) return answer
  const { provider, sealer, runtime } = login.signIn
  const known = [...accounts].reduce(
    (all, name) => rememberAccount(all, name, provider.issuer, runtime),
    subject.visitor.knownAccounts,
  )
  answer.headers.append('set-cookie', login.cookies.device.write(sealKnownAccounts(known, sealer)))
  return answer
}

async function complete(subject: LoginSubject, signIn: SignIn, login: Login): Promise<Response> {
  // Users who may not connect may still see and end their connections.
  if (subject.kind === 'account') return openAccount(subject, signIn, login)
  const { identity, session } = signIn
  const access = await keepOrSignOut(session, login.signIn.provider, () => decideAbout(identity, login))
  if (access === undefined) {
    await endUnusedSession(session, login.signIn)
    return signInErrorPage('sign_in_unavailable', login)
  }
  if (access.kind === 'denied') {
    await endUnusedSession(session, login.signIn)
    const { rule, reason } = access
    login.context.report('access_denied', { client_id: subject.client.id, sub: identity.sub, rule, reason })
    return renderLogin(subject, { failure: { reason: 'not_allowed' } }, login)
  }
  return subject.kind === 'authorization'
    ? answerWithCode(subject, signIn, access, login)
    : allowDevice(subject, signIn, access, login)
}

/** Returns undefined when the provider could not be asked. */
async function decideAbout(
  identity: Identity,
  { access, context }: Login,
): Promise<AccessDecision | undefined> {
  try {
    return await access.decide(identity.sub, access.profileOf(identity))
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    context.report('provider_failed', { failure: error.failure, message: error.message })
    return undefined
  }
}

async function answerWithCode(
  { request, client }: SubjectOf<'authorization'>,
  signIn: SignIn,
  { scopes }: AccessAllowed,
  login: Login,
): Promise<Response> {
  const allowed = { ...request, scope: limitScope(request.scope, scopes) }
  const code = await keepOrSignOut(signIn.session, login.signIn.provider, () =>
    issueAuthorizationCode(allowed, signIn, login.codes),
  )
  login.context.report('signed_in', { client_id: client.id, sub: signIn.identity.sub })
  return answerClient(request, { code }, client, login.urls.issuer)
}

async function allowDevice(
  { device, client }: SubjectOf<'device'>,
  signIn: SignIn,
  { scopes }: AccessAllowed,
  login: Login,
): Promise<Response> {
  const limited = { ...device, scope: limitScope(device.scope, scopes) }
  const allowed = await keepOrSignOut(signIn.session, login.signIn.provider, () =>
    approveDevice(limited, signIn, { ...login.codes, devices: login.devices }),
  )
  if (!allowed) {
    await endUnusedSession(signIn.session, login.signIn)
    return signInErrorPage('device_gone', login)
  }
  login.context.report('device_allowed', { client_id: client.id, sub: signIn.identity.sub })
  return page(
    messagePage({
      title: 'Your device can connect now',
      bridge: 'lowered',
      message:
        'It usually connects within seconds. If it takes more than 2 minutes, you have to start again on the device.',
      nextStep: 'Go back to your device. You can close this page.',
      link: { url: accountPath(login), label: 'See or end your connections' },
    }),
  )
}

/** Ends the provider's session: the page shows what this server granted, and never asks the provider. */
async function openAccount(
  { visitor }: SubjectOf<'account'>,
  { identity, session }: SignIn,
  login: Login,
): Promise<Response> {
  const { signIn, cookies, codes } = login
  await endUnusedSession(session, signIn)
  const account = createAccountSession(identity, codes.providerIssuer, signIn.runtime)
  login.context.report('account_signed_in', { sub: account.sub })
  return redirect(accountPath(login), {
    'set-cookie': cookies.account.write(sealAccountSession(account, visitor.binding, signIn)),
  })
}

/** Reports the user's refusal to the client or the device. */
export async function refuseLogin(subject: LoginSubject, login: Login): Promise<Response> {
  switch (subject.kind) {
    case 'authorization': {
      const { request, client } = subject
      const outcome = { error: 'access_denied', description: 'The user refused.' }
      login.context.report('authorization_denied', { client_id: client.id })
      return answerClient(request, outcome, client, login.urls.issuer)
    }
    case 'device': {
      const { device, client } = subject
      const denied = await denyDevice(device, { ...login.codes, devices: login.devices })
      if (!denied) return signInErrorPage('device_gone', login)
      login.context.report('device_denied', { client_id: client.id })
      return page(
        messagePage({
          title: 'Access denied',
          bridge: 'raised',
          message: 'The device gets no access to your account.',
          nextStep: 'You can close this page.',
        }),
      )
    }
    case 'account':
      return redirect(accountPath(login))
  }
}
