import type { UnsafeRequestReason } from '../../core/authorization-request.ts'
import { ClientUnavailableError } from '../../core/client.ts'
import { page } from '../response.ts'
import type { EndpointHandler, RequestContext } from '../endpoint.ts'
import type { AppView } from '../pages/layout.ts'
import { type ErrorView, errorPage } from '../pages/error-page.ts'

/** Why the browser stays here with an error page instead of going back to the client. */
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
    message: 'Its registration is unknown or was removed, so it cannot be connected as it is.',
    nextStep: 'In the app, remove this connector and add it again. It then registers itself anew.',
  },
  redirect_uri_missing: {
    status: 400,
    title: 'This link is incomplete',
    message: 'It does not say where to return to (the redirect_uri parameter is missing).',
    nextStep: startOver,
  },
  redirect_uri_mismatch: {
    status: 400,
    title: 'This app wants to return to an unknown address',
    message: 'The address in the link is not one that the app registered. Sending you there could be unsafe.',
    nextStep:
      'In the app, remove this connector and add it again. If that does not help, tell the makers of the app.',
  },
  parameter_repeated: {
    status: 400,
    title: 'This link contradicts itself',
    message: 'It names the app or the return address more than once.',
    nextStep: startOver,
  },
  transaction_invalid: {
    status: 400,
    title: 'This sign-in page cannot be used',
    message: 'It is incomplete, or it was made by another server.',
    nextStep: startOver,
  },
  transaction_expired: {
    status: 400,
    title: 'This sign-in page was open too long',
    message: 'For safety a sign-in page works for one hour.',
    nextStep: startOver,
  },
  foreign_browser: {
    status: 403,
    title: 'This sign-in page belongs to another browser',
    message: 'It was opened somewhere else, or this browser does not keep cookies.',
    nextStep: 'Allow cookies for this address, then go back to the app you came from and connect again.',
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
    message: 'It is too large, or parts of it are missing or given twice.',
    nextStep: startOver,
  },
  social_expired: {
    status: 400,
    title: 'This sign-in took too long',
    message: 'The sign-in that you come back from is not known here any more, or was already completed.',
    nextStep: startOver,
  },
  social_refused: {
    status: 400,
    title: 'That sign-in was not completed',
    message:
      'It was cancelled or failed. Several sign-ins are open in this browser, so it is not clear which one this was.',
    nextStep: 'Go back to the tab of the sign-in page and try again there, or start again in the app.',
  },
  social_rate_limited: {
    status: 429,
    title: 'Too many people are signing in',
    message: 'Your sign-in has to wait for its turn. It is still open.',
    nextStep: 'Wait a minute, then reload this page.',
  },
  sign_in_unavailable: {
    status: 503,
    title: 'Signing in is not possible right now',
    message: 'The sign-in service of the web app cannot be reached.',
    nextStep: 'Wait a moment, then reload this page.',
  },
  client_unavailable: {
    status: 503,
    title: 'This app cannot be checked right now',
    message:
      'The document that describes it cannot be fetched, so nobody can tell whether it may be connected.',
    nextStep: 'Wait a minute, then connect again in the app. If this stays, tell whoever runs this server.',
  },
  client_document_faulty: {
    status: 400,
    title: 'This app describes itself incorrectly',
    message: 'The document that describes it is missing or has a fault, so the app cannot be connected.',
    nextStep: 'Waiting does not help. Tell the makers of the app what the details below say.',
  },
  request_refused: {
    status: 400,
    title: 'This app’s request cannot be granted',
    message: 'The app asked for a sign-in in a way that this server does not accept.',
    nextStep:
      'If you know the site below, go back to it; the app is told what went wrong. Otherwise close this page.',
  },
  client_limited: {
    status: 429,
    title: 'This app cannot be checked right now',
    message: 'Requests from your address named too many apps that are new here within a minute.',
    nextStep: 'Wait a minute, then connect again in the app.',
  },
  device_gone: {
    status: 400,
    title: 'This code is not good any more',
    message: 'It has expired, or somebody has already allowed or refused the device.',
    nextStep: 'If your device still waits, start again there and enter the new code that it shows.',
  },
  device_client_unknown: {
    status: 400,
    title: 'The app on this device is not registered here',
    message: 'Its registration is unknown or was removed, so it cannot be connected as it is.',
    nextStep: 'On the device, remove this connector and add it again. It then shows a new code.',
  },
}

const retryAfterSeconds: Readonly<Record<number, string>> = { 429: '60', 503: '5' }

/** The error page for `reason`, with the request id that leads to the details in the log. */
export function signInErrorPage(
  reason: SignInErrorReason,
  context: RequestContext,
  { appUrl, appName }: AppView,
  detail?: string,
  back?: ErrorView['back'],
): Response {
  context.report('sign_in_stranded', { reason })
  const { status, ...text } = signInErrors[reason]
  const view = {
    ...text,
    requestId: context.id,
    app: { appUrl, appName },
    ...(detail !== undefined && { detail }),
    ...(back && { back }),
  }
  const retryAfter = retryAfterSeconds[status]
  return page(errorPage(view), status, retryAfter === undefined ? {} : { 'retry-after': retryAfter })
}

/** `handler`, answering with an error page when the document of its client cannot be fetched right now or is faulty. */
export function withClientErrorPages(handler: EndpointHandler, app: AppView): EndpointHandler {
  return async (request, context) => {
    try {
      return await handler(request, context)
    } catch (error) {
      if (!(error instanceof ClientUnavailableError)) throw error
      if (error.limited) return signInErrorPage('client_limited', context, app)
      const reason = error.faulty ? 'client_document_faulty' : 'client_unavailable'
      return signInErrorPage(reason, context, app, error.message)
    }
  }
}
