import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { NetworkError } from './http-client.ts'
import { errorCode, networkError } from './network-fault.ts'

const url = new URL('https://mcp.example.com/secret?secret')

function coded(code: string, message = 'm'): Error {
  return Object.assign(new Error(message), { code })
}

describe('networkError', () => {
  const server = 'mcp.example.com:443'
  const certificate = 'the certificate of mcp.example.com'
  const lookup = 'the address of mcp.example.com could not be looked up'

  it.each([
    ['ENOTFOUND', 'dns', 'mcp.example.com has no address'],
    ['EAI_AGAIN', 'dns', `${lookup} now: no name server answered`],
    ['EAI_FAIL', 'dns', lookup],
    ['ECONNREFUSED', 'refused', `${server} refused the connection`],
    ['EHOSTUNREACH', 'unreachable', `${server} cannot be reached`],
    ['ENETUNREACH', 'unreachable', `${server} cannot be reached`],
    ['ETIMEDOUT', 'connect_timeout', `${server} did not answer the connection attempt`],
    ['ECONNRESET', 'reset', `${server} closed the connection before it was ready`],
    ['CERT_HAS_EXPIRED', 'tls', `${certificate} has expired, or the clock of this computer is wrong`],
    ['CERT_CHAIN_SOMETHING', 'tls', `${certificate} was not accepted`],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls', 'mcp.example.com does not speak TLS on this port'],
    ['ERR_SSL_X', 'tls', 'the TLS handshake with mcp.example.com failed'],
    ['', 'unreachable', `${server} cannot be reached`],
  ])('networkError before the connection: %s is %s', (code, fault, said) => {
    const error = networkError(coded(code), { url, connected: false })
    const message = code === '' ? said : `${said} (${code})`
    expect(error).toMatchObject({ fault, message, sent: false, origin: 'https://mcp.example.com' })
  })

  it.each([
    ['ECONNRESET', 'reset', 'closed the connection before its answer was whole'],
    ['EPIPE', 'reset', 'closed the connection before its answer was whole'],
    ['ETIMEDOUT', 'reset', 'is gone from the network: the connection is dead'],
    ['HPE_INVALID_CONSTANT', 'protocol', 'answered with something other than HTTP'],
  ])('networkError after the connection: %s is %s', (code, fault, said) => {
    const message = `https://mcp.example.com ${said} (${code})`
    expect(networkError(coded(code), { url, connected: true })).toMatchObject({ fault, message, sent: true })
  })

  it('networkError returns a NetworkError unchanged', () => {
    const error = new NetworkError('aborted', 'x', 'y', { sent: true })
    expect(networkError(error, { url, connected: false })).toBe(error)
  })

  it('networkError keeps no bytes of a response in the cause', () => {
    const raw = Object.assign(coded('HPE_INVALID_CONSTANT'), { rawPacket: Buffer.from('token') })
    const named = Object.assign(new Error('m'), { name: 'HTTPParserError', code: undefined, data: 'token' })
    for (const cause of [raw, named]) {
      const error = networkError(cause, { url, connected: true })
      expect(error.fault).toBe('protocol')
      expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/token|746f6b656e|74 6f 6b 65 6e/)
    }
  })
})

it.each([
  [new AggregateError([coded('ENETUNREACH'), coded('ECONNREFUSED')]), 'ECONNREFUSED'],
  [new AggregateError([coded('ENETUNREACH'), coded('ETIMEDOUT')]), 'ENETUNREACH'],
  [new AggregateError([]), ''],
  [
    coded('EPROTO', 'write EPROTO 00:error:0A00010B:SSL routines:tls_x:wrong version number:../f.c:1:'),
    'ERR_SSL_WRONG_VERSION_NUMBER',
  ],
  [coded('EPROTO', 'write EPROTO'), 'EPROTO'],
  [new Error('x'), ''],
  ['text', ''],
  [undefined, ''],
  [{ code: 'X' }, ''],
])('errorCode reads the code of %s', (error, code) => expect(errorCode(error)).toBe(code))

describe('the next step of a TLS error', () => {
  it.each([
    ['ERR_SSL_WRONG_VERSION_NUMBER', /http:\/\//],
    ['CERT_HAS_EXPIRED', /clock/],
    ['CERT_NOT_YET_VALID', /clock/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', /^Use a name that the certificate has, or correct the URL\.$/],
  ])('the next step of the TLS error %s names its remedy', (code, text) =>
    expect(networkError(coded(code), { url, connected: false }).nextStep).toMatch(text),
  )

  it.each(['DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'EPROTO'])(
    'the TLS error %s may be an unknown authority, and has no next step',
    (code) => expect(networkError(coded(code), { url, connected: false }).nextStep).toBeUndefined(),
  )

  it('the next step of a TLS error names the hosts of the certificate, but only valid DNS names', () => {
    const names = 'DNS:a.example, DNS:*.b.example, IP Address:10.0.0.1, DNS:x; rm -rf ~, URI:https://c'
    const cause = Object.assign(coded('ERR_TLS_CERT_ALTNAME_INVALID'), { cert: { subjectaltname: names } })
    expect(networkError(cause, { url, connected: false }).nextStep).toContain('(a.example, *.b.example)')
  })
})
