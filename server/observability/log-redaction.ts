const mark = '[redacted]'

// Values of these names are secret wherever they are written as name=value or "name":"value".
const secretNames = [
  'access_token',
  'refresh_token',
  'id_token',
  'registration_access_token',
  'client_secret',
  'client_assertion',
  'assertion',
  'code',
  'code_verifier',
  'device_code',
  'user_code',
  'password',
  'captcha',
  'transaction',
  'provider_token',
  'provider_refresh_token',
  'apikey',
].join('|')

/**
 * Patterns of secrets, each with its replacement. None removes a quote, a backslash or a line end, so that a line of JSON stays
 * valid. Repetitions before the secret part are bounded, so that no input makes this slow.
 */
const forms: readonly (readonly [form: RegExp, left: string])[] = [
  // Tokens, client secrets, device codes and the like of this server; mcpc_ are client ids, which are public.
  [/\bmcp[abd-z]_[A-Za-z0-9_-]{8,}/g, mark],
  // JWTs: of the provider, of clients.
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?/g, mark],
  [/\b(Bearer|Basic|DPoP) {1,4}[A-Za-z0-9._~+/=-]{6,}/gi, `$1 ${mark}`],
  // Keys of Supabase projects, and session cookies as its libraries write them.
  [/\bsb_(?:secret|publishable)_[A-Za-z0-9_-]{8,}/g, mark],
  [/\bbase64-[A-Za-z0-9_-]{16,}/g, mark],
  [/\b(__(?:Host|Secure)-[\w.-]{1,80}|sb-[\w.-]{1,80})=[^;\s"\\]+/g, `$1=${mark}`],
  // The user and password of a URL, as of a database.
  [/(\b[a-z][a-z0-9+.-]{1,20}:\/\/)[^\s"\\/@]+@/gi, `$1${mark}@`],
  [new RegExp(String.raw`\b(${secretNames})=[^&\s"'\\;]+`, 'gi'), `$1=${mark}`],
  // Also JSON inside a JSON string, where quotes have backslashes. Members of this log itself are not secret: "code" is one.
  [new RegExp(String.raw`(\\{1,8}"(?:${secretNames})\\{1,8}" ?: ?\\{1,8}")[^"\\]+`, 'gi'), `$1${mark}`],
]

/** Only lines that match this are searched for secrets. */
const suspicious = /mcp[abd-z]_|eyJ|bearer|basic|dpop|sb_|base64-|__|@|=|\\"/i

/**
 * Removes anything that looks like a token, secret, cookie or password from `line`. A second safety net for error messages of other
 * code: secrets must never be reported in the first place.
 */
export function redactLine(line: string): string {
  if (!suspicious.test(line)) return line
  let left = line
  for (const [form, replacement] of forms) left = left.replace(form, replacement)
  return left
}
