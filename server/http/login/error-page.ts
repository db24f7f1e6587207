import { ClientUnavailableError } from '../../core/clients/client.ts'
import { type SignInErrorReason, signInErrors } from './error-table.ts'
import { page } from '../response.ts'
import type { EndpointHandler } from '../endpoint.ts'
import { type ErrorView, errorPage } from '../pages/error-page.ts'
import type { Login, LoginPorts } from './login-subject.ts'

const retryAfterSeconds: Readonly<Record<number, string>> = { 429: '60', 503: '5' }

/**
 * Renders the error page for `reason`, with the request id that leads to the details in the log. `operatorStep` replaces the next
 * step.
 */
export function signInErrorPage(
  reason: SignInErrorReason,
  { context, appUrl, appName, links }: Login,
  detail?: string,
  back?: ErrorView['back'],
  operatorStep?: string,
): Response {
  context.report('sign_in_stranded', { reason })
  const { status, ...text } = signInErrors[reason]
  const view = {
    ...text,
    ...(operatorStep !== undefined && { nextStep: operatorStep }),
    requestId: context.id,
    app: { appUrl, appName, links },
    ...(detail !== undefined && { detail }),
    ...(back && { back }),
  }
  const retryAfter = retryAfterSeconds[status]
  return page(errorPage(view), status, retryAfter === undefined ? {} : { 'retry-after': retryAfter })
}

/** Wraps a handler of the login flow: responds with an error page when the client's document cannot be fetched right now or is faulty. */
export function loginHandler<Ports extends LoginPorts>(
  ports: Ports,
  handle: (login: Ports & Login) => Promise<Response> | Response,
): EndpointHandler {
  return async (request, context) => {
    const login = { ...ports, request, context }
    try {
      return await handle(login)
    } catch (error) {
      if (!(error instanceof ClientUnavailableError)) throw error
      if (error.limited) return signInErrorPage('client_limited', login)
      const reason = error.faulty ? 'client_document_faulty' : 'client_unavailable'
      return signInErrorPage(reason, login, error.message, undefined, error.operatorStep)
    }
  }
}
