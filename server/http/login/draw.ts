import { workspacePage, type WorkspaceView } from '../pages/workspace-page.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { sealAppRequest } from '../../core/sign-in/app-sign-in.ts'
import { emailWaitSeconds } from '../../core/sign-in/email-sign-in.ts'
import type { SecondFactorPrompt, SecondFactorRetry } from '../../core/sign-in/second-factor-step.ts'
import {
  type ProviderCapabilities,
  ProviderError,
  type SessionProvider,
} from '../../core/session/session-provider.ts'
import {
  type EmailPrompt,
  isFirstPage,
  type SignInTransaction,
  transactionSeal,
} from '../../core/sign-in/sign-in-transaction.ts'
import { describeScope } from '../describe-scope.ts'
import type { Language } from '../../texts/language.ts'
import { captchaPolicy } from '../pages/captcha.ts'
import { emailCodePage, secondFactorPage } from '../pages/code-page.ts'
import { messagePage, type MessageView } from '../pages/finished-page.ts'
import { contentSecurityPolicy, type PageView, type PolicyOpening } from '../pages/layout.ts'
import { loginPage } from '../pages/login-page.ts'
import type { SignInView, SubjectView } from '../pages/sign-in-subject.ts'
import { page, redirect, retryHeaders } from '../response.ts'
import { clientView, isLoopbackUri, returnAddress } from './client-view.ts'
import { LoginError } from './login-error.ts'
import { boxViews, fixedScope, grantedScope, offerBoxes } from './scope-form.ts'
import {
  type ClientSubject,
  loginPaths,
  type LoginPorts,
  type LoginVisit,
  recordPageOpen,
  purposeOf,
  type SignInVisit,
} from './login-subject.ts'
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
  if (visit.ports.signInUrl !== undefined) return leaveForApp(visit.ports.signInUrl, visit, given)
  const { context, ports, request, language } = visit
  const { provider } = ports
  const { signUpUrl } = ports.app
  const capabilities = await provider.capabilities().catch((error: unknown) => {
    if (!(error instanceof ProviderError)) throw error
    context.report('provider_failed', { failure: error.failure, message: error.message })
    throw new LoginError(error.failure === 'protocol' ? 'sign_in_broken' : 'sign_in_unavailable')
  })
  const { captcha, ...ways } = waysToSignIn(provider, capabilities)
  // A page cannot show a captcha without a site key: the operator has to configure it.
  const needsKey = given?.reason === 'captcha' && !capabilities.captcha
  const shown = await offerBoxes(visit)
  const { boxes = [] } = shown.subject
  const failure = needsKey ? ({ reason: 'captcha_not_configured' } as const) : given
  const draw = (view: SignInView): string =>
    loginPage({
      ...view,
      ...ways,
      scopes: boxViews(boxes, ports.scopes, language),
      // Only what a link can open again leads back.
      ...(signUpUrl !== undefined &&
        request.method === 'GET' && {
          signUpUrl: `${signUpUrl}?return_to=${encodeURIComponent(request.url)}`,
        }),
      captcha,
      email: email?.slice(0, maxShownEmailLength),
    })
  return renderSignIn(shown, firstState(failure), draw, captcha && captchaPolicy(captcha))
}

/** Sends the browser to the web app's own page, or says why the last sign-in there failed and offers another. */
async function leaveForApp(
  signInUrl: string,
  visit: SignInVisit,
  failure: SignInFailure | undefined,
): Promise<Response> {
  const shown = await offerBoxes(visit)
  const { ports } = visit
  const { binding } = visit.subject.visitor
  const url = new URL(signInUrl)
  url.searchParams.set('request', sealAppRequest(purposeOf(shown), binding, ports))
  if (!failure) {
    await recordPageOpen(visit.subject, ports)
    return redirect(url.href, { 'set-cookie': ports.cookies.csrf.write(binding) })
  }
  const ways = { password: false, sso: false, social: [], scopes: [], continueUrl: url.href }
  return renderSignIn(shown, firstState(failure), (view) => loginPage({ ...view, ...ways }))
}

/** Returns the state of the first page of a sign-in, after a failure if there was one. */
function firstState(failure: SignInFailure | undefined): SignInState {
  return { waiting: failure?.reason === 'not_allowed' ? { notAllowed: true } : {}, failure }
}

function waysToSignIn(provider: SessionProvider, capabilities: ProviderCapabilities) {
  const password = capabilities.password && provider.passwordSignIn !== undefined
  const emailMethod = provider.emailStart && capabilities.email
  const sso = capabilities.sso === true && provider.ssoStart !== undefined
  const captcha = password || emailMethod !== undefined || sso ? capabilities.captcha : undefined
  return { password, emailMethod, social: capabilities.social, sso, captcha }
}

/** Renders the page that asks for a code of the second factor; `retry` says why the last one was refused. */
export function renderSecondFactor(
  visit: SignInVisit,
  { id, factors }: SecondFactorPrompt,
  retry?: SecondFactorRetry,
): Promise<Response> {
  const failure = retry && signInFailure(retry.failure)
  const stored = { waitsFor: 'second_factor' as const, id }
  const state = { waiting: { stored }, failure, codesLeft: retry?.codesLeft }
  return renderSignIn(visit, state, (view) => secondFactorPage({ ...view, factors, chosen: retry?.factorId }))
}

/** Renders the page that waits for a mailed code or link; `retry` says why a code, or another mail, was refused. */
export async function renderEmailCode(
  visit: SignInVisit,
  prompt: EmailPrompt,
  retry?: { failure: SignInFailure; codesLeft?: number | undefined },
): Promise<Response> {
  const { provider, runtime } = visit.ports
  const { email: method = 'code', captcha } = await provider.capabilities()
  const waitSeconds = captcha ? undefined : emailWaitSeconds(prompt, runtime.now())
  return renderSignIn(visit, { waiting: { emailPrompt: prompt }, ...retry }, (view) =>
    emailCodePage({ ...view, email: prompt.email, method, waitSeconds }),
  )
}

/** Renders the page that asks for a workspace; without `workspaces`, the one to try again. */
export async function renderWorkspaces(
  visit: SignInVisit,
  { id, workspaces, chosen }: { id: string } & Pick<WorkspaceView, 'workspaces' | 'chosen'>,
): Promise<Response> {
  const state = {
    waiting: { stored: { waitsFor: 'workspace' as const, id } },
    failure: workspaces ? undefined : { reason: 'workspaces_unavailable' as const },
  }
  return renderSignIn(visit, state, (view) => workspacePage({ ...view, workspaces, chosen }))
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

/** State of a page of a sign-in: what waits for a code, and why the last form failed. */
interface SignInState {
  waiting: Omit<SignInTransaction, 'purpose'>
  failure?: SignInFailure | undefined
  codesLeft?: number | undefined
}

/** Renders a page of a sign-in: `draw` gets its purpose, the form target, the sealed state and the error. */
async function renderSignIn(
  visit: SignInVisit,
  { waiting, failure, codesLeft }: SignInState,
  draw: (view: SignInView) => string,
  opening?: PolicyOpening,
): Promise<Response> {
  const { subject, language, ports } = visit
  const { app, cookies, urls } = ports
  const { binding } = subject.visitor
  await recordPageOpen(subject, ports)
  const html = draw({
    ...app,
    language,
    action: `${urls.basePath}${loginPaths[subject.kind]}`,
    transaction: transactionSeal.seal({ purpose: purposeOf(visit), ...waiting }, binding, ports),
    subject: subjectView(visit, isFirstPage(waiting)),
    error: failure && errorText(failure, codesLeft, language),
  })
  const status = failure ? statusOf(failure) : 200
  return page(html, { language, look: app.look }, status, {
    ...retryHeaders(status, failure?.retryAfterSeconds),
    'content-security-policy': contentSecurityPolicy(app.look, opening),
    'set-cookie': cookies.csrf.write(binding),
  })
}

function errorText(failure: SignInFailure, codesLeft: number | undefined, language: Language): string {
  const text = failureText(failure, language)
  if (codesLeft === undefined) return text
  return `${text} ${language.counted(language.texts.code.attemptsLeft, codesLeft)}`
}

/** Formats an address as in a URL, with brackets around IPv6. */
function hostOf(address: string | undefined): string | undefined {
  return address?.includes(':') ? `[${address}]` : address
}

/** Describes a sign-in for its pages. `hasBoxes`: scopes with a box are shown elsewhere on the page. */
export function subjectView({ subject, language, ports }: SignInVisit, hasBoxes: boolean): SubjectView {
  const permissions = (of: ClientSubject): string[] =>
    permissionsOf(hasBoxes ? fixedScope(of) : grantedScope(of), language, ports)
  switch (subject.kind) {
    case 'authorization': {
      const { request, client } = subject
      return {
        kind: 'authorization',
        client: clientView(client, request.redirectUri, language),
        redirectHost: returnAddress(request.redirectUri),
        returnsToThisComputer: isLoopbackUri(request.redirectUri),
        permissions: permissions(subject),
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
        isLocal: [new URL(ports.urls.issuer).hostname, hostOf(device.address)].every(
          (host) => host !== undefined && isLoopbackHostname(host),
        ),
        asked: language.ago(device.createdAt, ports.runtime.now()),
        permissions: permissions(subject),
      }
    }
    case 'account':
      return { kind: 'account', tokenName: subject.token?.name }
  }
}

function permissionsOf(
  scope: string,
  language: Language,
  { scopes, sessionTtlSeconds }: LoginPorts,
): string[] {
  const { stayDays, stayMinutes } = language.texts.permissions
  const days = Math.round(sessionTtlSeconds / dayInSeconds)
  const lasting =
    days >= 1
      ? language.counted(stayDays, days)
      : language.counted(stayMinutes, Math.ceil(sessionTtlSeconds / 60))
  return [...describeScope(scope, scopes, language), lasting]
}
