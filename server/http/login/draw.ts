import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { AuthorizationCodePorts } from '../../core/authorization/authorization-code.ts'
import type { SecondFactorPrompt, SecondFactorRetry } from '../../core/sign-in/second-factor-step.ts'
import { type ProviderCapabilities, ProviderError } from '../../core/session/session-provider.ts'
import { sealTransaction } from '../../core/sign-in/sign-in-transaction.ts'
import { captchaPolicy } from '../pages/captcha.ts'
import { type AppView, contentSecurityPolicy } from '../pages/layout.ts'
import { loginPage } from '../pages/login-page.ts'
import { secondFactorPage } from '../pages/second-factor-page.ts'
import type { SubjectView } from '../pages/sign-in-subject.ts'
import { agoText } from '../pages/when.ts'
import { page } from '../response.ts'
import { returnAddress } from './authorization-response.ts'
import { clientView, isLoopbackUri } from './client-view.ts'
import { signInErrorPage } from './error-page.ts'
import { type Login, loginPaths, type LoginSubject, notePageOpen, purposeOf } from './login-subject.ts'
import {
  failureText,
  retryHeaders,
  type SignInFailure,
  signInFailure,
  signInMessages,
} from './error-table.ts'

const dayInSeconds = 86_400

/** Contents of a login page besides its subject. */
export interface LoginState {
  email?: string | undefined
  failure?: SignInFailure
}

/** Renders the login page of a subject, or a page that says why signing in is impossible right now. */
export async function renderLogin(
  subject: LoginSubject,
  { email, failure: given }: LoginState,
  login: Login,
): Promise<Response> {
  const capabilities = await login.signIn.provider.capabilities().catch((error: unknown) => {
    if (!(error instanceof ProviderError)) throw error
    login.context.report('provider_failed', { failure: error.failure, message: error.message })
    return undefined
  })
  if (!capabilities) return signInErrorPage('sign_in_unavailable', login)
  await notePageOpen(subject, login)
  const password = capabilities.password && login.signIn.provider.passwordSignIn !== undefined
  const captcha = password ? capabilities.captcha : undefined
  const failure = given && withCaptchaKnown(given, capabilities)
  const html = loginPage({
    ...subjectPageView(subject, undefined, login),
    password,
    social: capabilities.social,
    ...(captcha && { captcha }),
    ...(email !== undefined && { email }),
    ...(failure && { error: failureText(failure) }),
  })
  return loginResponse(html, subject, failure, login, {
    ...(captcha && { 'content-security-policy': contentSecurityPolicy(captchaPolicy(captcha)) }),
  })
}

/** A page cannot show a captcha without a site key: the operator has to configure it. */
function withCaptchaKnown(failure: SignInFailure, { captcha }: ProviderCapabilities): SignInFailure {
  return failure.reason === 'captcha' && !captcha ? { reason: 'captcha_not_configured' } : failure
}

/** Renders the page that asks for a code of the second factor; `retry` says why the last one was refused. */
export async function renderSecondFactor(
  subject: LoginSubject,
  { id, factors }: SecondFactorPrompt,
  retry: SecondFactorRetry | undefined,
  login: Login,
): Promise<Response> {
  await notePageOpen(subject, login)
  const failure = retry && signInFailure(retry.failure)
  const html = secondFactorPage({
    ...subjectPageView(subject, id, login),
    factors,
    ...(retry && { chosen: retry.factorId }),
    ...(failure && { error: `${failureText(failure)}${attemptsLeft(retry)}` }),
  })
  return loginResponse(html, subject, failure, login)
}

function attemptsLeft({ codesLeft: left }: SecondFactorRetry): string {
  if (left === undefined) return ''
  return left === 1 ? ' One attempt is left.' : ` ${left}\u00a0attempts are left.`
}

function loginResponse(
  html: string,
  { visitor }: LoginSubject,
  failure: SignInFailure | undefined,
  { cookies }: Login,
  headers: Record<string, string> = {},
): Response {
  return page(html, failure ? signInMessages[failure.reason].status : 200, {
    ...(failure && retryHeaders(failure)),
    ...headers,
    'set-cookie': cookies.csrf.write(visitor.binding),
  })
}

/**
 * Builds what every page of a sign-in has in common: its purpose, the form target, and the sealed state. `secondFactorId`
 * identifies the sign-in waiting for a code.
 */
function subjectPageView(
  subject: LoginSubject,
  secondFactorId: string | undefined,
  login: Login,
): AppView & { action: string; transaction: string; subject: SubjectView } {
  const transaction = { purpose: purposeOf(subject), secondFactorId }
  return {
    action: `${login.urls.basePath}${loginPaths[subject.kind]}`,
    transaction: sealTransaction(transaction, subject.visitor.binding, login.signIn),
    subject: subjectView(subject, login),
    appName: login.appName,
    appUrl: login.appUrl,
    links: login.links,
  }
}

/** Formats an address as in a URL, with brackets around IPv6. */
function hostOf(address: string | undefined): string | undefined {
  return address?.includes(':') ? `[${address}]` : address
}

function subjectView(subject: LoginSubject, { codes, signIn, urls }: Login): SubjectView {
  switch (subject.kind) {
    case 'authorization': {
      const { request, client } = subject
      return {
        kind: 'authorization',
        client: clientView(client, request.redirectUri),
        redirectHost: returnAddress(request.redirectUri),
        returnsToThisComputer: isLoopbackUri(request.redirectUri),
        permissions: permissionsOf(request.scope, codes),
      }
    }
    case 'device': {
      const { device, client, userCode } = subject
      return {
        kind: 'device',
        client: clientView(client, undefined),
        userCode,
        address: device.address,
        // Behind a proxy a loopback address is the proxy's: only a base URL of this computer rules that out.
        isLocal: [new URL(urls.issuer).hostname, hostOf(device.address)].every(
          (host) => host !== undefined && isLoopbackHostname(host),
        ),
        asked: agoText(device.createdAt, signIn.runtime.now()),
        permissions: permissionsOf(device.scope, codes),
      }
    }
    case 'account':
      return { kind: 'account' }
  }
}

function permissionsOf(scope: string, { scopes, sessionTtlSeconds }: AuthorizationCodePorts): string[] {
  const days = Math.round(sessionTtlSeconds / dayInSeconds)
  const lasting =
    days >= 1 ? `${days} ${days === 1 ? 'day' : 'days'}` : `${Math.ceil(sessionTtlSeconds / 60)} minutes`
  return [...scopes.describe(scope), `Stay connected for ${lasting} without asking you again`]
}
