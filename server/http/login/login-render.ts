import { type ProviderCapabilities, ProviderError } from '../../core/session/session-provider.ts'
import { page } from '../response.ts'
import type { RequestContext } from '../endpoint.ts'
import { type LoginPorts, type LoginSubject, notePageOpen } from './login-subject.ts'
import { subjectPageView } from './draw.ts'
import { captchaPolicy } from '../pages/captcha.ts'
import { contentSecurityPolicy } from '../pages/layout.ts'
import { loginPage } from '../pages/login-page.ts'
import { failureText, retryHeaders, type SignInFailure, signInMessages } from './sign-in-message.ts'
import { strandedPage } from './error-page.ts'

/** What a login page shows beside its subject. */
export interface LoginState {
  email?: string | undefined
  failure?: SignInFailure
}

/** The login page of a subject, or a page that says why nobody can sign in right now. */
export async function renderLogin(
  subject: LoginSubject,
  { email, failure: given }: LoginState,
  context: RequestContext,
  ports: LoginPorts,
): Promise<Response> {
  const capabilities = await ports.signIn.provider.capabilities().catch((error: unknown) => {
    if (!(error instanceof ProviderError)) throw error
    context.report('provider_failed', { failure: error.failure, message: error.message })
    return undefined
  })
  if (!capabilities) return strandedPage('sign_in_unavailable', context, ports)
  await notePageOpen(subject, ports)
  const password = capabilities.password && ports.signIn.provider.passwordSignIn !== undefined
  const captcha = password ? capabilities.captcha : undefined
  const failure = given && withCaptchaKnown(given, capabilities)
  const html = loginPage({
    ...subjectPageView(subject, undefined, ports),
    password,
    social: capabilities.social,
    ...(captcha && { captcha }),
    ...(email !== undefined && { email }),
    ...(failure && { error: failureText(failure) }),
  })
  return page(html, failure ? signInMessages[failure.reason].status : 200, {
    ...(failure && retryHeaders(failure)),
    ...(captcha && { 'content-security-policy': contentSecurityPolicy(captchaPolicy(captcha)) }),
    'set-cookie': ports.cookies.binding.write(subject.visitor.binding),
  })
}

/** Asked for a captcha that it has no site key of, a page cannot help; somebody has to configure it. */
function withCaptchaKnown(failure: SignInFailure, { captcha }: ProviderCapabilities): SignInFailure {
  return failure.reason === 'captcha' && !captcha ? { reason: 'captcha_not_configured' } : failure
}
