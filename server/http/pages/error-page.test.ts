import { expect, test } from 'vitest'
import { errorPage } from './error-page.ts'
import { errorSample } from '../../../tests/support/pages/view-sample.ts'

test('the error page says what happened, why, what to do, and the request id', () => {
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

test('the error page leaves out optional parts', () => {
  const { language, look, title, message, nextStep, requestId } = errorSample
  const page = errorPage({ language, look, title, message, nextStep, requestId })
  expect(page).not.toContain('class="detail"')
  expect(page).not.toContain('<a ')
})
