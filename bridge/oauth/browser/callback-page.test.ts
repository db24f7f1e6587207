import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { callbackPage, type CallbackOutcome } from './callback-page.ts'

const outcomes: CallbackOutcome[] = [
  { kind: 'signed_in' },
  { kind: 'foreign' },
  { kind: 'failed', fault: 'access_denied' },
  { kind: 'failed', fault: 'unavailable' },
  { kind: 'failed', fault: undefined },
  { kind: 'again', url: 'https://as.example/authorize?state=two' },
]

it.each(outcomes)('the page for %j loads nothing and names the outcome', (outcome) => {
  const { headers, body } = callbackPage(outcome)
  expect(body).toMatch(/^<!doctype html>\s*<html lang="en">/)
  expect(body).toMatch(/<h1>[^<]+<\/h1>\s*<p>[^<]+<\/p>/)
  expect(body).not.toMatch(/<script|https?:|src=|href=/)
  expect(body).toContain('color-scheme: light dark')
  const style = /<style>(.*?)<\/style>/s.exec(body)?.[1] ?? ''
  const hash = createHash('sha256').update(style).digest('base64')
  expect(headers['content-security-policy']).toContain(`style-src 'sha256-${hash}'`)
  expect(headers['content-security-policy']).toContain("default-src 'none'")
})

it('the page links elsewhere only if it is requested again', () => {
  const statuses = outcomes.map((outcome) => callbackPage(outcome))
  expect(statuses.map(({ headers }) => headers['location'])).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    'https://as.example/authorize?state=two',
  ])
  expect(statuses.map(({ status }) => status)).toEqual([200, 400, 200, 502, 502, 303])
})
