import type { UnsafeRequestReason } from '../core/authorization/authorization-request.ts'
import { maxFormBytes, maxHeaderBytes, maxHeaders, maxTargetLength } from './request-limits.ts'

/** Text of an error: in JSON the message and the next step, in a browser a whole page. */
export interface ErrorText {
  status: number
  title: string
  message: string
  nextStep: string
}

/** Errors of this server that are not in the OAuth registry: of any request, and of the login flow, which are pages only. */
export type ErrorCode =
  | UnsafeRequestReason
  | 'unauthorized'
  | 'forbidden_origin'
  | 'forbidden_cookie'
  | 'access_denied'
  | 'misdirected_request'
  | 'not_found'
  | 'method_not_allowed'
  | 'unsupported_media_type'
  | 'content_too_large'
  | 'too_many_requests'
  | 'temporarily_unavailable'
  | 'server_error'
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
  | 'request_refused'
  | 'client_limited'
  | 'device_gone'
  | 'device_client_unknown'

const startOver = 'Go back to the app you came from and connect again.'

/** All errors: those of any request first, then those of the login flow. */
export const errorTable: Readonly<Record<ErrorCode, ErrorText>> = {
  unauthorized: {
    status: 401,
    title: 'Sign-in required',
    message: 'This request has no access token.',
    nextStep: 'Sign in with OAuth; the WWW-Authenticate header says where to start.',
  },
  forbidden_origin: {
    status: 403,
    title: 'Origin not allowed',
    message: 'Web pages of this origin are not allowed to call this server.',
    nextStep: 'Add the origin to ALLOWED_ORIGINS if it is yours.',
  },
  forbidden_cookie: {
    status: 403,
    title: 'Session cookie not accepted',
    message: 'The session cookie is only accepted from scripts on trusted origins of the same site.',
    nextStep: 'Add the origin to ALLOWED_ORIGINS if it is yours, or send a bearer token.',
  },
  access_denied: {
    status: 403,
    title: 'Access denied',
    message: 'This account may not use this server.',
    nextStep: 'Ask the owner of the web app, or use another account.',
  },
  misdirected_request: {
    status: 421,
    title: 'Wrong host name',
    message: 'This server does not serve that host name.',
    nextStep: 'Use the host of BASE_URL. A reverse proxy must forward the Host header.',
  },
  not_found: {
    status: 404,
    title: 'Page not found',
    message: 'There is no page at this address.',
    nextStep: 'To connect an MCP client, use the address that ends in /mcp.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    message: 'This address does not support that HTTP method.',
    nextStep: 'Use a method listed in the Allow header.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Content type not supported',
    message: 'The content type of the message is not application/json in UTF-8.',
    nextStep: 'Send JSON with the header Content-Type: application/json, without any parameter.',
  },
  content_too_large: {
    status: 413,
    title: 'Message too large',
    message: 'The message is larger than 4 MiB.',
    nextStep: 'Send a smaller message.',
  },
  too_many_requests: {
    status: 429,
    title: 'Too many failed requests',
    message: 'Too many requests from your address failed.',
    nextStep: 'Wait as many seconds as Retry-After says, and check the earlier error messages.',
  },
  temporarily_unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    message: 'A service that this server depends on cannot be reached. Nothing is lost.',
    nextStep: 'Try again after as many seconds as Retry-After says.',
  },
  server_error: {
    status: 500,
    title: 'Something went wrong',
    message: 'The server could not process this request.',
    nextStep: 'Try again. If it happens again, report the request ID from the X-Request-Id header.',
  },
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
    nextStep:
      'In the app, remove this server and add it again. Signing in again is not enough: the app would use its old registration.',
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
    message:
      'The sign-in you came back from has expired, was already completed, or was begun in another browser.',
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

/** Faults that any request can have. */
type RequestFaultName =
  | 'malformed'
  | 'target_invalid'
  | 'host_not_once'
  | 'too_slow'
  | 'body_too_large'
  | 'target_too_long'
  | 'body_no_form'
  | 'body_no_json'
  | 'body_encoded'
  | 'expectation'
  | 'headers_too_many'
  | 'headers_too_large'
  | 'method_unknown'
  | 'transfer_coding'
  | 'proxy'
  | 'version'

/** The response to a malformed request; the code is always `invalid_request`. */
export interface RequestFault {
  status: number
  description: string
}

/** All request faults, ordered by status. */
export const requestFaults: Readonly<Record<RequestFaultName, RequestFault>> = {
  malformed: { status: 400, description: 'This is not a valid HTTP request.' },
  target_invalid: { status: 400, description: 'The host or the path is not valid.' },
  host_not_once: { status: 400, description: 'Send exactly one Host header.' },
  too_slow: { status: 408, description: 'The request did not arrive in time. Try again.' },
  body_too_large: {
    status: 413,
    description: `The body is larger than ${maxFormBytes} bytes. Send a smaller one.`,
  },
  target_too_long: {
    status: 414,
    description: `The URL is longer than ${maxTargetLength} bytes. Send a shorter one.`,
  },
  body_no_form: { status: 415, description: 'Send the body as application/x-www-form-urlencoded.' },
  body_no_json: { status: 415, description: 'Send the body as application/json.' },
  body_encoded: { status: 415, description: 'Send the body without a Content-Encoding.' },
  expectation: { status: 417, description: 'The only supported expectation is 100-continue.' },
  headers_too_many: { status: 431, description: `There are more than ${maxHeaders} headers. Send fewer.` },
  headers_too_large: {
    status: 431,
    description: `The headers are larger than ${maxHeaderBytes} bytes. Clear old cookies and try again.`,
  },
  method_unknown: { status: 501, description: 'This method is not supported.' },
  transfer_coding: { status: 501, description: 'The only supported transfer coding is chunked.' },
  proxy: { status: 501, description: 'This server is not a proxy.' },
  version: { status: 505, description: 'The supported versions are HTTP/1.1 and HTTP/1.0.' },
}
