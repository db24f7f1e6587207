import { decodeUtf8 } from '@drawbridge/shared/base64url.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { requireOnce } from '../../core/authorization/authorization-request.ts'
import { type RequestFault, requestFaults } from '../error-table.ts'
import { maxFormBytes } from '../request-limits.ts'

export type BodyReading = { kind: 'text'; text: string } | { kind: 'too_large' } | { kind: 'not_utf8' }

/**
 * Reads at most `maxBytes` of the body, and refuses a larger one without reading all of it. `bodyLimit` of Hono would make the
 * Node adapter build a complete `Request`, and refuses before the caller is known.
 */
export async function readBody(request: Request, maxBytes: number): Promise<BodyReading> {
  const declared = request.headers.get('content-length')
  if (Number(declared ?? 0) > maxBytes) return { kind: 'too_large' }
  const bytes =
    declared !== null && /^\d+$/.test(declared)
      ? // In one piece, without a stream: an HTTP server delivers exactly the declared length.
        new Uint8Array(await request.arrayBuffer())
      : await readStream(request, maxBytes)
  if (bytes === undefined || bytes.length > maxBytes) return { kind: 'too_large' }
  const text = decodeUtf8(bytes)
  return text === undefined ? { kind: 'not_utf8' } : { kind: 'text', text }
}

async function readStream(request: Request, maxBytes: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.body ?? []) {
    length += chunk.length
    if (length > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function mediaType(request: Request): string {
  return (request.headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

/**
 * Reads the parameters of a form body (RFC 6749 appendix B); only `repeatable` may come several times. Throws `invalid_request`, also
 * with 413 and 415.
 */
export async function readForm(request: Request, repeatable?: string): Promise<URLSearchParams> {
  const text = await readText(request, 'application/x-www-form-urlencoded', requestFaults.body_no_form)
  const parameters = new URLSearchParams(text)
  requireOnce(parameters, repeatable)
  return parameters
}

/** Reads the value of a JSON body. Throws `invalid_request`, also with 413 and 415. */
export async function readJson(request: Request): Promise<unknown> {
  const text = await readText(request, 'application/json', requestFaults.body_no_json)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new OAuthError('invalid_request', 'The body is not valid JSON.', { cause })
  }
}

async function readText(request: Request, type: string, otherType: RequestFault): Promise<string> {
  if (mediaType(request) !== type) throw refusalOf(otherType)
  const body = await readBody(request, maxFormBytes)
  switch (body.kind) {
    case 'text':
      return body.text
    case 'too_large':
      throw refusalOf(requestFaults.body_too_large)
    case 'not_utf8':
      throw new OAuthError('invalid_request', 'The body is not valid UTF-8.')
  }
}

function refusalOf({ status, description }: RequestFault): OAuthError {
  return new OAuthError('invalid_request', description, { status })
}

/** Returns the parameter `name` of a form; an empty one counts as omitted (RFC 6749 section 3.1). */
export function optionalParameter(form: URLSearchParams, name: string): string | undefined {
  const value = form.get(name)
  return value === null || value === '' ? undefined : value
}

/** Like {@link optionalParameter}. Throws `invalid_request` when it is omitted. */
export function requiredParameter(form: URLSearchParams, name: string): string {
  const value = optionalParameter(form, name)
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing.`)
  return value
}
