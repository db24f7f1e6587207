import { describe, expect, it } from 'vitest'
import { redactLine } from './log-redaction.ts'

const jwt = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.c2lnbmF0dXJlLW9mLXRoaXM'

describe('a line of the log', () => {
  it.each([
    ['an access token', 'failed for mcpa_0mq1x2c3A-b_C9d8e7f6 here', 'failed for [redacted] here'],
    ['a refresh token', 'mcpr_0mq1x2c3Ab9d8e7f6', '[redacted]'],
    ['a client secret', 'mcps_0mq1x2c3Ab9d8e7f6', '[redacted]'],
    ['a registration access token', 'mcpm_0mq1x2c3Ab9d8e7f6', '[redacted]'],
    ['a device code', 'mcpd_0mq1x2c3Ab9d8e7f6', '[redacted]'],
    ['a JWT', `got "${jwt}"`, 'got "[redacted]"'],
    ['a JWT without its signature', 'eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.', '[redacted]'],
    ['a bearer header', 'Authorization: Bearer opaque.token~1+/=', 'Authorization: Bearer [redacted]'],
    ['a Basic header', 'authorization: basic YWRhOmNvcnJlY3Q=', 'authorization: basic [redacted]'],
    ['a key of Supabase', 'apikey sb_secret_N7UND0UgjKTVK-Uodkm0Hg_xSvEMPvz', 'apikey [redacted]'],
    [
      'a session cookie',
      'sb-ref-auth-token.0=base64-eyJhY2Nlc3NfdG9rZW4iOi; x=1',
      'sb-ref-auth-token.0=[redacted]; x=1',
    ],
    ['the value of a session cookie', 'cannot read base64-eyJhY2Nlc3NfdG9rZW4iOi', 'cannot read [redacted]'],
    ['a cookie of this server', '__Host-drawbridge=Zx8-t3; a=b', '__Host-drawbridge=[redacted]; a=b'],
    ['the password of a database', 'postgres://ada:lovelace@db/x', 'postgres://[redacted]@db/x'],
    ['a code in a URL', 'GET /callback?code=abc123&state=1', 'GET /callback?code=[redacted]&state=1'],
    ['a form', 'email=ada&password=correct+horse', 'email=ada&password=[redacted]'],
    [
      'a JSON body in a message',
      String.raw`{"err":{"message":"got {\"access_token\":\"opaque\",\"a\":1}"}}`,
      String.raw`{"err":{"message":"got {\"access_token\":\"[redacted]\",\"a\":1}"}}`,
    ],
  ])('a line of the log loses %s', (_, line, left) => expect(redactLine(line)).toBe(left))

  it.each([
    '{"level":30,"time":"2026-01-01T00:00:00Z","event":"signed_in","client_id":"8f14e45f","sub":"ada"}',
    '{"level":20,"event":"request_refused","code":"invalid_grant","description":"The code is unknown."}',
    '{"event":"token_issued","grant_type":"authorization_code","request_id":"9f-1"}',
    '{"event":"client_registered","client_id":"mcpc_0mq1x2c3Ab9d8e7f6"}',
    '{"event":"client_registered","client_id":"https://client.example.com/metadata.json"}',
    '{"err":{"type":"Error","message":"connect ECONNREFUSED 127.0.0.1:5432","code":"ECONNREFUSED"}}',
  ])('a line of the log without a secret is unchanged: %s', (line) => expect(redactLine(line)).toBe(line))

  it('a line of the log stays valid JSON', () => {
    const message = `"quoted" Bearer ${jwt}" password=a"b\\c\n__Host-x=1"2 https://a:b"@c {"code":"x"}`
    const line = JSON.stringify({ err: { message, stack: [message] } })
    expect(() => JSON.parse(redactLine(line)) as unknown).not.toThrow()
    expect(redactLine(line)).not.toContain(jwt)
  })

  it('redaction takes linear time for hostile text', () => {
    const before = process.cpuUsage()
    for (const part of [
      'eyJ',
      'eyJ.',
      'mcpa_',
      'https://',
      'Bearer ',
      'code=',
      '\\"code\\":',
      'base64-',
      '__Host-',
    ]) {
      redactLine(part.repeat(20_000))
      redactLine(part + 'a'.repeat(100_000))
      redactLine(part + '\\'.repeat(100_000))
      redactLine(`a=${'\\'.repeat(50_000)}${part}`)
    }
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2000)
  })
})
