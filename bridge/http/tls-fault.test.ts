import { describe, expect, it } from 'vitest'
import { tlsNextStep } from './tls-fault.ts'

describe('what to do about a TLS error', () => {
  it.each([
    ['ERR_SSL_WRONG_VERSION_NUMBER', /http:\/\//],
    ['CERT_HAS_EXPIRED', /clock/],
    ['CERT_NOT_YET_VALID', /clock/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', /^Use a name that the certificate has, or correct the URL\.$/],
  ])('%s', (code, text) => expect(tlsNextStep(code, new Error('m'))).toMatch(text))

  it.each(['DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'EPROTO'])(
    '%s may be an unknown authority',
    (code) => expect(tlsNextStep(code, new Error('m'))).toBeUndefined(),
  )

  it('names of the certificate are said, as far as they are names', () => {
    const names = 'DNS:a.example, DNS:*.b.example, IP Address:10.0.0.1, DNS:x; rm -rf ~, URI:https://c'
    const cause = Object.assign(new Error('m'), { cert: { subjectaltname: names } })
    expect(tlsNextStep('ERR_TLS_CERT_ALTNAME_INVALID', cause)).toContain('(a.example, *.b.example)')
  })
})
