import type { UnsafeRequestReason } from '../../core/authorization/authorization-request.ts'
import { ClientUnavailableError } from '../../core/clients/client.ts'
import { page } from '../response.ts'
import type { EndpointHandler } from '../endpoint.ts'
import { type ErrorView, errorPage } from '../pages/error-page.ts'
import type { Login, LoginPorts } from './login-subject.ts'

/** Why the browser gets an error page instead of going back to the client. */
export type SignInErrorReason =
  | UnsafeRequestReason
  | 'transaction_invalid'
  | 'transaction_expired'
  | 'foreign_browser'
  | 'foreign_form'
  | 'form_unreadable'
  | 'social_expired'
  | 'social_refused'
  | 'social_rate_limited'
  | 'sign_in_unavailable'
  | 'client_unavailable'
  | 'client_document_faulty'
  | 'client_limited'
  | 'request_refused'
  | 'device_gone'
  | 'device_client_unknown'

/** What the page says, and the HTTP status it is sent with. */
export type SignInErrorText = Pick<ErrorView, 'title' | 'message' | 'nextStep'> & { status: number }

const startOver = 'Go back to the app you came from and connect again.'

/** The error pages, by reason. */
export const signInErrors: Readonly<Record<SignInErrorReason, SignInErrorText>> = {
  client_id_missing: {
    status: 400,
    title: 'This link is incomplete',
    message: 'It does not say which app wants to connect (the client_id parameter is missing).',
    nextStep: startOver,
  },
  client_unknown: {
    status: 400,
    title: 'This app is not registered here',
    message: 'Its registration was removed or never existed, so it cannot be connected.',
    nextStep: 'In the app, remove this connector and add it again, so that it registers again.',
  },
  redirect_uri_missing: {
    status: 400,
    title: 'This link is incomplete',
    message: 'It does not say where to return to (the redirect_uri parameter is missing).',
    nextStep: startOver,
  },
  redirect_uri_mismatch: {
    status: 400,
    title: 'This app uses an unregistered return address',
    message:
      'The return address in the link is not registered for this app. Sending you there could be unsafe.',
    nextStep:
      'In the app, remove this connector and add it again. If that does not help, contact the app’s developer.',
  },
  parameter_repeated: {
    status: 400,
    title: 'This link is not valid',
    message: 'It names the app or the return address more than once.',
    nextStep: startOver,
  },
  transaction_invalid: {
    status: 400,
    title: 'This sign-in page is not valid',
    message: 'It is incomplete, or it comes from another server.',
    nextStep: startOver,
  },
  transaction_expired: {
    status: 400,
    title: 'This sign-in page has expired',
    message: 'For your security, a sign-in page expires after one hour.',
    nextStep: startOver,
  },
  foreign_browser: {
    status: 403,
    title: 'This sign-in page belongs to another browser',
    message: 'It was opened in another browser, or this browser does not accept cookies.',
    nextStep: 'Allow cookies for this site, then go back to the app you came from and connect again.',
  },
  foreign_form: {
    status: 403,
    title: 'This form was sent from another site',
    message: 'Sign-in forms are only accepted from the sign-in page itself.',
    nextStep: startOver,
  },
  form_unreadable: {
    status: 400,
    title: 'This form cannot be read',
    message: 'It is too large, or some of its fields are missing or repeated.',
    nextStep: startOver,
  },
  social_expired: {
    status: 400,
    title: 'This sign-in took too long',
    message: 'The sign-in you came back from has expired or was already completed.',
    nextStep: startOver,
  },
  social_refused: {
    status: 400,
    title: 'The sign-in was not completed',
    message:
      'It was cancelled or failed. This browser has several sign-ins open, so the server cannot tell which one it was.',
    nextStep: 'Go back to the tab with the sign-in page and try again, or start again in the app.',
  },
  social_rate_limited: {
    status: 429,
    title: 'Too many people are signing in',
    message: 'Your sign-in has to wait. It is still open.',
    nextStep: 'Wait a minute, then reload this page.',
  },
  sign_in_unavailable: {
    status: 503,
    title: 'Sign-in is not available right now',
    message: 'The web app’s sign-in service cannot be reached.',
    nextStep: 'Wait a moment, then reload this page.',
  },
  client_unavailable: {
    status: 503,
    title: 'This app cannot be checked right now',
    message: 'Its metadata document cannot be fetched, so the server cannot verify the app.',
    nextStep:
      'Wait a minute, then connect again in the app. If this happens again, tell the server’s operator.',
  },
  client_document_faulty: {
    status: 400,
    title: 'This app’s metadata is not valid',
    message: 'Its metadata document is missing or has an error, so the app cannot be connected.',
    nextStep: 'Trying again will not help. Send the details on this page to the app’s developer.',
  },
  request_refused: {
    status: 400,
    title: 'This app’s request was refused',
    message: 'The app requested a sign-in in a way that this server does not accept.',
    nextStep:
      'If you trust the site below, go back to it; the app is told what went wrong. Otherwise close this page.',
  },
  client_limited: {
    status: 429,
    title: 'This app cannot be checked right now',
    message: 'Too many new apps were connected from your network within a minute.',
    nextStep: 'Wait a minute, then connect again in the app.',
  },
  device_gone: {
    status: 400,
    title: 'This code is no longer valid',
    message: 'It has expired, or the device was already allowed or denied.',
    nextStep: 'If your device is still waiting, start again there and enter the new code it shows.',
  },
  device_client_unknown: {
    status: 400,
    title: 'The app on this device is not registered here',
    message: 'Its registration was removed or never existed, so it cannot be connected.',
    nextStep: 'On the device, remove this connector and add it again, then enter the new code it shows.',
  },
}

const retryAfterSeconds: Readonly<Record<number, string>> = { 429: '60', 503: '5' }

/** The error page for `reason`, whose next step `operatorStep` replaces, with the request id that leads to the details in the log. */
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

/** A handler of the login flow; an error page when the document of the client cannot be fetched right now or is faulty. */
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
