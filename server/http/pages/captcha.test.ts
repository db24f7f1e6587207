import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { captchaFields, captchaPolicy, captchaWidget } from './captcha.ts'
import { contentSecurityPolicy, pageContentSecurityPolicy } from './layout.ts'
import { captchaSamples } from '../../../tests/support/pages/view-sample.ts'

/** Directives of the policy with this captcha that the ordinary one does not have, or has otherwise. */
function opened(kind: 'hcaptcha' | 'turnstile'): string[] {
  const usual = new Set(pageContentSecurityPolicy.split('; '))
  return contentSecurityPolicy(captchaPolicy(captchaSamples[kind]))
    .replaceAll(/sha256-[\w+/]{43}=/g, 'HASH')
    .split('; ')
    .filter((directive) => !usual.has(directive))
}

describe('the policy opens exactly as the vendor documents', () => {
  test('hcaptcha', () => {
    expect(opened('hcaptcha')).toEqual([
      "script-src 'HASH' https://hcaptcha.com https://*.hcaptcha.com",
      "style-src 'HASH' https://hcaptcha.com https://*.hcaptcha.com",
      'frame-src https://hcaptcha.com https://*.hcaptcha.com',
      'connect-src https://hcaptcha.com https://*.hcaptcha.com',
    ])
  })

  test('turnstile', () => {
    expect(opened('turnstile').filter((directive) => !directive.startsWith('style-src'))).toEqual([
      'script-src https://challenges.cloudflare.com',
      'frame-src https://challenges.cloudflare.com',
    ])
  })

  test.each(['hcaptcha', 'turnstile'] as const)('%s: nothing inline, nothing evaluated', (kind) => {
    const policy = contentSecurityPolicy(captchaPolicy(captchaSamples[kind]))
    expect(policy).not.toMatch(/unsafe|\*(?!\.hcaptcha\.com)|data:(?!;)/)
    for (const kept of ["default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"])
      expect(policy).toContain(kept)
  })
})

test('the script that picks the colours of hCaptcha is the one that the policy names', () => {
  const widget = String(captchaWidget(captchaSamples.hcaptcha, true))
  const script = /<script>([^<]*)<\/script>/.exec(widget)?.[1] ?? ''
  const hash = createHash('sha256').update(script).digest('base64')
  expect(captchaPolicy(captchaSamples.hcaptcha).script).toContain(`'sha256-${hash}'`)
})

test('Turnstile picks its colours and its width itself', () => {
  const widget = String(captchaWidget(captchaSamples.turnstile, true))
  expect(widget).toContain('data-theme="auto"')
  expect(widget).toContain('data-size="flexible"')
  expect(widget).not.toContain('<script')
})

test('the response comes in the field that the vendor documents', () => {
  expect(captchaFields).toEqual(['h-captcha-response', 'cf-turnstile-response'])
})
