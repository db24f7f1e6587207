import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert as assertProperty, constantFrom, property, string } from 'fast-check'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { browserUrl, openShownLink } from './open-browser.ts'

it.each([
  ['https://as.example/authorize?a=1&b=2', 'https://as.example/authorize?a=1&b=2'],
  ['HTTPS://AS.example', 'https://as.example/'],
  ["https://as.example/$(calc)?a='b'`c`", 'https://as.example/%24%28calc%29?a=%27b%27%60c%60'],
  ['http://127.0.0.1:1/x y', 'http://127.0.0.1:1/x%20y'],
])('browserUrl opens %s as %s', (text, url) => {
  expect(browserUrl(text)).toBe(url)
})

it.each([
  'file:///etc/passwd',
  'javascript:alert(1)',
  'vbscript:x',
  'ms-settings:x',
  'C:\\Windows\\calc.exe',
  '-a Calculator',
  '',
  'https://user:password@as.example/',
  'a:$(calc)',
])('browserUrl refuses %s', (text) => {
  expect(browserUrl(text)).toBeUndefined()
})

it('browserUrl contains no character that is special to a shell', () => {
  assertProperty(
    property(
      constantFrom('https://as.example', 'http://127.0.0.1:1/', 'https://'),
      string(),
      (start, junk) => {
        const made = browserUrl(start + junk)
        if (made !== undefined) expect(made).toMatch(/^https?:\/\/[^\s"$'()`<>\\^|]*$/)
      },
    ),
  )
})

it('browserUrl keeps the meaning of a URL for the server', () => {
  const made = new URL(browserUrl("https://as.example/a?redirect_uri=http%3A%2F%2F127.0.0.1&x=('$')") ?? '')
  expect(made.searchParams.get('redirect_uri')).toBe('http://127.0.0.1')
  expect(made.searchParams.get('x')).toBe("('$')")
})

describe('openBrowser on Linux', () => {
  let folder: string
  beforeEach(() => void (folder = temporaryFolder()))

  function script(name: string, body: string): { path: string; seen: () => string } {
    const path = join(folder, name)
    const log = `${path}.log`
    writeFileSync(path, `#!/bin/sh\nprintf '%s\\n' "$@" > ${log}.part && mv ${log}.part ${log}\n${body}\n`)
    chmodSync(path, 0o700)
    return { path, seen: () => (existsSync(log) ? readFileSync(log, 'utf8') : '') }
  }

  /** Returns why the link was not opened, if it was not. */
  const open = async (BROWSER: string, url: string, watchMs?: number): Promise<string | undefined> => {
    let told: string | undefined
    const ports = {
      environment: { BROWSER },
      platform: 'linux',
      ...(watchMs !== undefined && { watchMs }),
    } as const
    await openShownLink(url, ports, (line) => void (told = line))
    return told
  }

  it('openBrowser on Linux starts the command of BROWSER with the address as one word', async () => {
    const browser = script('good', 'exit 0')
    expect(await open(browser.path, 'https://as.example/?a=1&b=$(id)')).toBeUndefined()
    expect(browser.seen()).toBe('https://as.example/?a=1&b=%24%28id%29\n')
  })

  it('openBrowser on Linux puts the address in place of %s', async () => {
    const browser = script('template', 'exit 0')
    await open(`${browser.path} --new-window %s --flag`, 'https://as.example/')
    expect(browser.seen()).toBe('--new-window\nhttps://as.example/\n--flag\n')
  })

  it('openBrowser on Linux reports a failure', async () => {
    const bad = script('failing', 'exit 3')
    expect(await open(bad.path, 'https://as.example/')).toContain('its starter ended with 3')
    expect(await open('/nowhere/at/all', 'https://as.example/')).toContain(
      'no program that opens one was found',
    )
  })

  it('openBrowser on Linux does not wait for a browser that stays in the foreground', async () => {
    const browser = script('foreground', 'sleep 8')
    const before = performance.now()
    expect(await open(browser.path, 'https://as.example/', 50)).toBeUndefined()
    expect(performance.now() - before).toBeLessThan(7000)
    await vi.waitFor(() => expect(browser.seen()).not.toBe(''))
  })

  it('openBrowser on Linux starts nothing for an invalid address', async () => {
    const browser = script('never', 'exit 0')
    expect(await open(browser.path, 'file:///etc/passwd')).toContain('not a web address')
    expect(browser.seen()).toBe('')
  })
})
