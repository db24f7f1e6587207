import { expect, test } from 'vitest'
import { finishedPage } from './finished-page.ts'
import { finishedSample } from '../../../tests/support/pages/view-sample.ts'

const escapedUrl = finishedSample.continueUrl.replaceAll('&', '&amp;')

test('the finished page returns to the client at once, and has a link', () => {
  const page = finishedPage(finishedSample)
  expect(page).toContain(`<meta http-equiv="refresh" content="0; url=${escapedUrl}"`)
  expect(page).toMatch(/<a class="button primary" href="cursor:[^"]*"/)
  expect(page).toContain('Return to “<bdi>Cursor</bdi>”')
  expect(page).toContain('you can close this tab')
})

test('the finished page shows the code in no text and no title', () => {
  const text = finishedPage(finishedSample).replaceAll(/<[^>]*>/g, '')
  expect(text).not.toContain('c0de')
})

test.each([
  [false, 'You’re signed in', '<title>Signed in ·'],
  [true, 'Access denied', '<title>Access denied ·'],
])('the finished page after denial: %s', (denied, heading, title) => {
  const page = finishedPage({ ...finishedSample, denied })
  expect(page).toContain(`<h1>${heading}</h1>`)
  expect(page).toContain(title)
})
