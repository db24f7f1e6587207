import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { AuthorizationCodePorts } from '../../core/authorization/authorization-code.ts'
import { emailWaitSeconds } from '../../core/sign-in/email-sign-in.ts'
import type { SecondFactorPrompt, SecondFactorRetry } from '../../core/sign-in/second-factor-step.ts'
import {
  type ProviderCapabilities,
  ProviderError,
  type SessionProvider,
} from '../../core/session/session-provider.ts'
import {
  type EmailPrompt,
  type SignInTransaction,
  transactionSeal,
} from '../../core/sign-in/sign-in-transaction.ts'
import { describeScope } from '../describe-scope.ts'
import type { Language } from '../../texts/language.ts'
import { captchaPolicy } from '../pages/captcha.ts'
import { emailCodePage, secondFactorPage } from '../pages/code-page.ts'
import { messagePage, type MessageView } from '../pages/finished-page.ts'
import { contentSecurityPolicy, type PageView } from '../pages/layout.ts'
import { loginPage } from '../pages/login-page.ts'
import type { SignInView, SubjectView } from '../pages/sign-in-subject.ts'
import { page, retryHeaders } from '../response.ts'
import { clientView, isLoopbackUri, returnAddress } from './client-view.ts'
import { LoginError } from './login-error.ts'
import { loginPaths, type LoginVisit, notePageOpen, purposeOf, type SignInVisit } from './login-subject.ts'
import { failureText, type SignInFailure, signInFailure, statusOf } from './sign-in-failure.ts'

const dayInSeconds = 86_400

/** More than the longest address (RFC 5321 section 4.5.3.1) is not shown again. */
const maxShownEmailLength = 320

/**
 * Renders the login page of a sign-in. Throws `sign_in_unavailable` while the provider does not say how to sign in, `sign_in_broken` if
 * waiting would not help.
 */
export async function renderLogin(
  visit: SignInVisit,
  { email, failure: given }: { email?: string | undefined; failure?: SignInFailure } = {},
): Promise<Response> {
  const { context, language, ports, request } = visit
  const { provider } = ports.signIn
  const { signUpUrl } = ports.app
  const capabilities = await provider.capabilities().catch((error: unknown) => {
    if (!(error instanceof ProviderError)) throw error
    context.report('provider_failed', { failure: error.failure, message: error.message })
    throw new LoginError(error.failure === 'protocol' ? 'sign_in_broken' : 'sign_in_unavailable')
  })
  await notePageOpen(visit.subject, visit.ports)
  const { captcha, ...ways } = waysToSignIn(provider, capabilities)
  // A page cannot show a captcha without a site key: the operator has to configure it.
  const needsKey = given?.reason === 'captcha' && !capabilities.captcha
  const failure: SignInFailure | undefined = needsKey ? { reason: 'captcha_not_configured' } : given
  const html = loginPage({
    ...signInView(visit, stateAfter(given)),
    ...ways,
    // Only what a link can open again leads back.
    ...(signUpUrl !== undefined &&
      request.method === 'GET' && {
        signUpUrl: `${signUpUrl}?return_to=${encodeURIComponent(request.url)}`,
      }),
    ...(captcha && { captcha }),
    ...(email !== undefined && { email: email.slice(0, maxShownEmailLength) }),
    ...(failure && { error: failureText(failure, language) }),
  })
  return signInPage(html, visit, failure, {
    ...(captcha && {
      'content-security-policy': contentSecurityPolicy(ports.app.look, captchaPolicy(captcha)),
    }),
  })
}

/** Returns the state that the form carries after a failure. */
function stateAfter(failure: SignInFailure | undefined): Pick<SignInTransaction, 'notAllowed'> {
  return failure?.reason === 'not_allowed' ? { notAllowed: true } : {}
}

function waysToSignIn(provider: SessionProvider, capabilities: ProviderCapabilities) {
  const password = capabilities.password && provider.passwordSignIn !== undefined
  const emailMethod = provider.emailStart && capabilities.email
  const sso = capabilities.sso === true && provider.ssoStart !== undefined
  const captcha = password || emailMethod !== undefined || sso ? capabilities.captcha : undefined
  return { password, emailMethod, social: capabilities.social, sso, captcha }
}

/** Renders the page that asks for a code of the second factor; `retry` says why the last one was refused. */
export async function renderSecondFactor(
  visit: SignInVisit,
  { id, factors }: SecondFactorPrompt,
  retry?: SecondFactorRetry,
): Promise<Response> {
  await notePageOpen(visit.subject, visit.ports)
  const failure = retry && signInFailure(retry.failure)
  const html = secondFactorPage({
    ...signInView(visit, { secondFactorId: id }),
    factors,
    ...(retry && { chosen: retry.factorId }),
    ...(failure && { error: codeError(failure, retry?.codesLeft, visit.language) }),
  })
  return signInPage(html, visit, failure)
}

/** Renders the page that waits for a mailed code or link; `retry` says why a code, or another mail, was refused. */
export async function renderEmailCode(
  visit: SignInVisit,
  prompt: EmailPrompt,
  retry?: { failure: SignInFailure; codesLeft?: number | undefined },
): Promise<Response> {
  const { signIn } = visit.ports
  await notePageOpen(visit.subject, visit.ports)
  const { email: method = 'code', captcha } = await signIn.provider.capabilities()
  const html = emailCodePage({
    ...signInView(visit, { emailPrompt: prompt }),
    email: prompt.email,
    method,
    waitSeconds: captcha ? undefined : emailWaitSeconds(prompt, signIn.runtime.now()),
    ...(retry && { error: codeError(retry.failure, retry.codesLeft, visit.language) }),
  })
  return signInPage(html, visit, retry?.failure)
}

/** Shows how something ended. */
export function showMessage(
  { language, ports }: Pick<LoginVisit, 'language' | 'ports'>,
  message: Omit<MessageView, keyof PageView>,
  headers: Record<string, string> = {},
): Response {
  const view = { language, look: ports.app.look, ...message }
  return page(messagePage(view), view, 200, headers)
}

function codeError(failure: SignInFailure, codesLeft: number | undefined, language: Language): string {
  const text = failureText(failure, language)
  if (codesLeft === undefined) return text
  return `${text} ${language.counted(language.texts.code.attemptsLeft, codesLeft)}`
}

function signInPage(
  html: string,
  { subject, language, ports: { app, cookies } }: SignInVisit,
  failure: SignInFailure | undefined,
  headers: Record<string, string> = {},
): Response {
  const status = failure ? statusOf(failure) : 200
  return page(html, { language, look: app.look }, status, {
    ...retryHeaders(status, failure?.retryAfterSeconds),
    ...headers,
    'set-cookie': cookies.csrf.write(subject.visitor.binding),
  })
}

/**
 * Builds what every page of a sign-in has in common: its purpose, the form target, and the sealed state. `waiting` is the sign-in
 * that waits for a code, if one does.
 */
function signInView(visit: SignInVisit, waiting: Omit<SignInTransaction, 'purpose'> = {}): SignInView {
  const { subject, language, ports } = visit
  const transaction = { purpose: purposeOf(visit), ...waiting }
  return {
    ...ports.app,
    language,
    action: `${ports.urls.basePath}${loginPaths[subject.kind]}`,
    transaction: transactionSeal.seal(transaction, subject.visitor.binding, ports.signIn),
    subject: subjectView(visit),
  }
}

/** Formats an address as in a URL, with brackets around IPv6. */
function hostOf(address: string | undefined): string | undefined {
  return address?.includes(':') ? `[${address}]` : address
}

function subjectView({ subject, language, ports: { codes, signIn, urls } }: SignInVisit): SubjectView {
  switch (subject.kind) {
    case 'authorization': {
      const { request, client } = subject
      return {
        kind: 'authorization',
        client: clientView(client, request.redirectUri, language),
        redirectHost: returnAddress(request.redirectUri),
        returnsToThisComputer: isLoopbackUri(request.redirectUri),
        permissions: permissionsOf(request.scope, language, codes),
      }
    }
    case 'device': {
      const { device, client, userCode } = subject
      return {
        kind: 'device',
        client: clientView(client, undefined, language),
        userCode,
        address: device.address,
        // Behind a proxy a loopback address is the proxy's: only a base URL of this computer rules that out.
        isLocal: [new URL(urls.issuer).hostname, hostOf(device.address)].every(
          (host) => host !== undefined && isLoopbackHostname(host),
        ),
        asked: language.ago(device.createdAt, signIn.runtime.now()),
        permissions: permissionsOf(device.scope, language, codes),
      }
    }
    case 'account':
      return { kind: 'account' }
  }
}

function permissionsOf(
  scope: string,
  language: Language,
  { scopes, sessionTtlSeconds }: AuthorizationCodePorts,
): string[] {
  const { stayDays, stayMinutes } = language.texts.permissions
  const days = Math.round(sessionTtlSeconds / dayInSeconds)
  const lasting =
    days >= 1
      ? language.counted(stayDays, days)
      : language.counted(stayMinutes, Math.ceil(sessionTtlSeconds / 60))
  return [...describeScope(scope, scopes, language), lasting]
}
