import { english } from '../texts/built-in.ts'
import { maxFormBytes, maxHeaderBytes, maxHeaders, maxTargetLength } from './request-limits.ts'

/** Text of an error: in JSON the message and the next step, in a browser a whole page. */
export interface ErrorText {
  status: number
  title: string
  message: string
  nextStep: string
}

/** Errors that are shown as a page, of any request and of the login flow; their texts are in the table of texts. */
export type PageErrorCode = keyof typeof english.errors

/** Errors of this server that are not in the OAuth registry. */
export type ErrorCode = PageErrorCode | keyof typeof programErrors

/** Errors that only programs get. */
const programErrors = {
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
  workspace_lost: {
    status: 403,
    title: 'Workspace lost',
    message: 'You are no longer in the workspace that this connection is for.',
    nextStep: 'Choose another workspace on the page /account/connections, or ask to be added again.',
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
} as const satisfies Record<string, ErrorText>

/** The status of errors that are shown as a page, where it is not 400. */
const pageStatus: Readonly<Partial<Record<PageErrorCode, number>>> = {
  misdirected_request: 421,
  not_found: 404,
  method_not_allowed: 405,
  temporarily_unavailable: 503,
  server_error: 500,
  foreign_browser: 403,
  foreign_form: 403,
  social_rate_limited: 429,
  sign_in_unavailable: 503,
  sign_in_broken: 502,
  client_unavailable: 503,
  client_limited: 429,
}

/** All errors, in English as in JSON. */
export const errorTable: Readonly<Record<ErrorCode, ErrorText>> = {
  ...programErrors,
  ...(Object.fromEntries(
    Object.entries(english.errors).map(([code, text]) => [
      code,
      { status: pageStatus[code as PageErrorCode] ?? 400, ...text },
    ]),
  ) as Record<PageErrorCode, ErrorText>),
}

/** The response to a malformed request; the code is always `invalid_request`. */
export interface RequestFault {
  status: number
  description: string
}

const faults = {
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
} as const satisfies Record<string, RequestFault>

/** All faults that any request can have, ordered by status. */
export const requestFaults: Readonly<Record<keyof typeof faults, RequestFault>> = faults
