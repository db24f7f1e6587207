import { describe, expect, it } from 'vitest'
import { explainFault, explainRedirect } from './auth-client.ts'

describe('a refusal', () => {
  it('of a banned user reads like a wrong password', () => {
    const wrong = explainFault({ kind: 'refused', code: 'invalid_credentials' })
    expect(explainFault({ kind: 'refused', code: 'user_banned' })).toBe(wrong)
  })

  it.each([
    ['email_not_confirmed', /not confirmed/],
    ['user_already_exists', /Sign in instead/],
    ['weak_password', /at least 6/],
    ['over_request_rate_limit', /Wait a moment/],
    ['flow_state_expired', /took too long/],
    ['flow_state_not_found', /already been used/],
    ['unheard_of', /Try again/],
    ['constructor', /Try again/],
    ['', /Try again/],
  ])('with %j says what to do', (code, sentence) => {
    expect(explainFault({ kind: 'refused', code })).toMatch(sentence)
  })

  it('is not what a silent provider means', () => {
    expect(explainFault({ kind: 'unavailable' })).toMatch(/does not answer/)
  })
})

describe('an error in a redirect', () => {
  it.each([
    ['error=access_denied', /cancelled/],
    ['error=access_denied&error_code=user_banned', /cannot sign in/],
    ['error=server_error&error_code=flow_state_expired', /took too long/],
    ['error=server_error', /did not work/],
    ['error_description=Call+this+number', /did not work/],
    ['', /did not work/],
  ])('%j is explained in our words', (query, sentence) => {
    const text = explainRedirect(new URLSearchParams(query))
    expect(text).toMatch(sentence)
    expect(text).not.toContain('number')
  })
})
