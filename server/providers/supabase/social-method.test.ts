import { describe, expect, it } from 'vitest'
import { describeSocialMethod } from './social-method.ts'

describe('a social sign-in method', () => {
  it.each([
    ['google', 'Google'],
    ['github', 'GitHub'],
    ['gitlab', 'GitLab'],
    ['azure', 'Microsoft'],
    ['apple', 'Apple'],
    ['linkedin_oidc', 'LinkedIn'],
    ['keycloak', 'Keycloak'],
    ['discord', 'Discord'],
    ['slack_oidc', 'Slack'],
    ['something_new', 'Something new'],
    ['custom:acme-sso', 'Acme sso'],
    ['custom:', 'Custom:'],
    ['constructor', 'Constructor'],
    ['x', 'X'],
  ])('%s is called %s', (id, label) => {
    expect(describeSocialMethod(id)).toEqual({ id, label })
  })
})
