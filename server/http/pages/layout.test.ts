import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { brandSamples } from '../../../tests/support/pages/brand-sample.ts'
import { pageSamples } from '../../../tests/support/pages/page-sample.ts'
import { plainPolicy } from '../../../tests/support/pages/view-sample.ts'

test('the policy of pages allows only the stylesheet and the icon', () => {
  expect(plainPolicy.replace(/sha256-[\w+/]{43}=/, 'HASH').split('; ')).toEqual([
    "default-src 'none'",
    "style-src 'HASH'",
    'img-src data:',
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ])
})

test.each([...pageSamples, ...brandSamples])(
  'a page carries exactly the stylesheet that the policy names: %s',
  (_name, { document: page, contentSecurityPolicy: policy }) => {
    const styles = [...page.matchAll(/<style>([\s\S]*?)<\/style>/g)]
    expect(styles).toHaveLength(1)
    const hash = createHash('sha256')
      .update(styles[0]?.[1] ?? '')
      .digest('base64')
    expect(policy).toContain(`'sha256-${hash}'`)
    expect(page).not.toMatch(/<[^>]*\sstyle=/)
    expect(policy).toContain('; img-src data:; ')
  },
)

describe.each([...pageSamples])('%s', (name, { document: page, contentSecurityPolicy: policy }) => {
  const hasScript = /captcha|turnstile|^(?:de\/)?connect(?!ions)/.test(name)

  test.runIf(!hasScript)('a page runs no script, and has the policy that says so', () => {
    expect(page).not.toMatch(/<script/i)
    expect(policy).toBe(plainPolicy)
  })

  test('a page fills in every name of its texts', () => {
    const body = page.replaceAll(/<(style|script|code)[^>]*>[\s\S]*?<\/\1>/g, '')
    expect(body).not.toMatch(/\{[a-z]\w*\}|undefined|\[object/)
  })

  test('a page has each id once, and every one that an element refers to', () => {
    const valuesOf = (attribute: string): string[] =>
      [...page.matchAll(new RegExp(`\\s${attribute}="([^"]*)"`, 'g'))].flatMap(([, value = '']) =>
        value.split(' '),
      )
    const ids = valuesOf('id')
    expect(new Set(ids).size).toBe(ids.length)
    const named = ['aria-describedby', 'aria-labelledby', 'for', 'form'].flatMap(valuesOf)
    expect(named.filter((id) => !ids.includes(id))).toEqual([])
  })

  test('a page has no inline handlers and no script links', () => {
    expect(page).not.toMatch(/<[^>]*\son\w+=|href="javascript:/i)
  })

  test('RFC 9700 4.2.4, CIMD 6.7: a page loads no address but the given ones', () => {
    const given =
      /^(https:\/\/notes\.example\.com(?:\/support)?|https:\/\/mcp\.example\.com\/|\/help|https:\/\/claude\.ai\/|https:\/\/w{63}\.example|(?:cursor|goose|lmstudio):\/\/[^"]*|vscode(?:-insiders)?:mcp\/install\?[^"]*|\/mcp|\/oauth\/(?:authorize|device)|\/account\/connections(?:\?change=grant-\d)?|https:\/\/(?:js\.hcaptcha|challenges\.cloudflare)\.com\/[^"]*|data:image\/svg\+xml,[^"]*)$/
    for (const [, address] of page.matchAll(/\s(?:href|src|action|srcset|poster)="([^"]*)"/g))
      expect(address).toMatch(given)
    expect(page).not.toMatch(/@import|url\(/)
  })

  test('a page has language, viewport, colour scheme, a title of its own, and asks not to be indexed', () => {
    expect(page).toMatch(
      name.startsWith('de/') ? /^<!doctype html>\s*<html lang="de">/ : /^<!doctype html>\s*<html lang="en">/,
    )
    expect(page).toContain('name="viewport" content="width=device-width, initial-scale=1"')
    expect(page).toContain('name="robots" content="noindex"')
    expect(page).toContain('name="color-scheme" content="light dark"')
    expect(page).toMatch(/<title>[^<]+ · Drawbridge<\/title>/)
    expect(page.match(/<h1/g)).toHaveLength(1)
    expect(page.match(/<main/g)).toHaveLength(1)
  })
})
