import { describe, expect, test } from 'vitest'
import { errorPage, type ErrorView } from './error-page.ts'
import { errorSample } from '../../../tests/support/pages/view-sample.ts'

describe('errorPage', () => {
  test('says what happened, why, what to do, and last the request', () => {
    const body = errorPage(errorSample).replace(/^[\s\S]*<body>/, '')
    const positions = [
      errorSample.title,
      errorSample.message,
      'redirect_uri https://claude.example/api/mcp/auth_callback',
      errorSample.nextStep,
      'href="https://notes.example.com"',
      errorSample.requestId,
    ].map((text) => body.replaceAll('&#39;', "'").indexOf(text))
    expect(positions).not.toContain(-1)
    expect(positions).toEqual(positions.toSorted((a, b) => a - b))
  })

  test('leaves out what it was not given', () => {
    const { title, message, nextStep, requestId } = errorSample
    const page = errorPage({ title, message, nextStep, requestId })
    expect(page).not.toContain('class="detail"')
    expect(page).not.toContain('<a ')
  })

  const attack = `"'></title><script>alert(1)</script>`
  const fields: readonly (readonly [string, Partial<ErrorView>])[] = [
    ['title', { title: attack }],
    ['message', { message: attack }],
    ['next step', { nextStep: attack }],
    ['request id', { requestId: attack }],
    ['app name', { app: { appName: attack, appUrl: '' } }],
    ['app URL', { app: { appName: '', appUrl: attack } }],
    ['detail', { detail: attack }],
  ]
  test.each(fields)('escapes the %s', (_field, part) => {
    const page = errorPage({ ...errorSample, ...part })
    expect(page).not.toContain('<script')
    expect(page).not.toContain(`"'>`)
    expect(page).toContain('&lt;script&gt;')
  })
})
