import { expect, it } from 'vitest'
import type { AuthorizationPrompt } from '../http/http-client.ts'
import { signInLine, type PendingSignIn, SignIns } from './sign-in-attempt.ts'

interface Control {
  tell(prompt: AuthorizationPrompt): void
  succeed(): void
  fail(error: Error): void
  isCancelled: boolean
}

function create(hasSignIn = true) {
  const begun: Control[] = []
  const said: string[] = []
  const opened: string[] = []
  let now = 1000
  let successes = 0
  const signIn = (): PendingSignIn => {
    const control: Partial<Control> = { isCancelled: false }
    const prompt = new Promise<AuthorizationPrompt>((resolve) => (control.tell = resolve))
    const done = new Promise<void>((resolve, reject) => {
      control.succeed = resolve
      control.fail = reject
    })
    begun.push(control as Control)
    return { prompt, done, cancel: () => (control.isCancelled = true) }
  }
  const signIns: SignIns = new SignIns({
    waitMs: 1000,
    signIn: hasSignIn ? signIn : undefined,
    openBrowser: (url) => opened.push(url) > 0,
    say: (line) => void said.push(line),
    succeeded: () => (successes += 1),
    randomId: () => 'r',
    runtime: { now: () => now },
  })
  const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
  return {
    signIns,
    begun,
    said,
    opened,
    settle,
    successes: () => successes,
    later: (seconds: number) => (now += seconds),
  }
}

it('one sign-in runs at a time, opens one tab and prints the link', async () => {
  const { signIns, begun, said, opened, settle, successes } = create()
  const first = signIns.begin(false)
  expect(signIns.begin(true)).toBe(first)
  begun[0]?.tell({ kind: 'browser', url: 'https://as.example/a' })
  await settle()
  expect(begun).toHaveLength(1)
  expect(opened).toEqual(['https://as.example/a'])
  expect(said).toEqual(['Sign in here: https://as.example/a'])
  begun[0]?.succeed()
  await first?.done
  expect(signIns.pending).toBeUndefined()
  expect(successes()).toBe(1)
  expect(signIns.begin(false)).not.toBe(first)
})

it('a device sign-in opens the link with the code, and prints the code', async () => {
  const { signIns, begun, said, opened, settle } = create()
  signIns.begin(false)
  begun[0]?.tell({
    kind: 'device',
    url: 'https://as.example/device',
    completeUrl: 'https://as.example/device?c=AB-CD',
    userCode: 'AB-CD',
    expiresAt: 1,
    askedBy: 'mcp.example',
  })
  await settle()
  expect(opened).toEqual(['https://as.example/device?c=AB-CD'])
  expect(said).toEqual([
    'mcp.example asks you to open https://as.example/device?c=AB-CD on any device and check that it shows the code AB-CD',
  ])
})

it('the line tells where to open a page of this computer, and where to enter a code', () => {
  const device = { kind: 'device' as const, userCode: 'AB-CD', expiresAt: 1, askedBy: 'mcp.example' }
  expect(signInLine({ ...device, url: 'http://localhost:8787/device' })).toBe(
    'mcp.example asks you to open http://localhost:8787/device in a browser on this computer and enter the code AB-CD',
  )
})

it('an unconfirmed page is shown with both hosts, and not opened', async () => {
  const { signIns, begun, said, opened, settle } = create()
  signIns.begin(false)
  const unconfirmed = { page: 'bank.example', namedBy: 'mcp.example' }
  begun[0]?.tell({ kind: 'browser', url: 'https://bank.example/a', unconfirmed })
  await settle()
  expect(opened).toEqual([])
  expect(said).toEqual([
    'mcp.example sends you to bank.example to sign in. Nothing at bank.example confirms that the two belong together, so the page is not opened for you. Go there only if you know that they do. Sign in here: https://bank.example/a',
  ])
})

it('no sign-in begins within 30 s after a failure, unless the user asks', async () => {
  const { signIns, begun, settle, later } = create()
  signIns.begin(false)
  begun[0]?.fail(new Error('denied'))
  await settle()
  expect(signIns.lastFailure).toEqual(new Error('denied'))
  later(29)
  expect(signIns.begin(false)).toBeUndefined()
  expect(signIns.begin(true)).toBeDefined()
  begun[1]?.fail(new Error('denied again'))
  await settle()
  later(31)
  expect(signIns.begin(false)).toBeDefined()
  begun[2]?.succeed()
  await settle()
  expect(signIns.lastFailure).toBeUndefined()
})

it('a successful sign-in resolves all waiting requests', async () => {
  const { signIns, begun, settle } = create()
  let isThere = false
  void signIns.success.then(() => (isThere = true))
  signIns.begin(false)
  begun[0]?.fail(new Error('no'))
  await settle()
  expect(isThere).toBe(false)
  signIns.begin(true)
  begun[1]?.succeed()
  await settle()
  expect(isThere).toBe(true)
})

it('close cancels the sign-in and begins no other', async () => {
  const { signIns, begun, said, settle } = create()
  signIns.begin(false)
  signIns.close()
  expect(begun[0]?.isCancelled).toBe(true)
  begun[0]?.tell({ kind: 'browser', url: 'https://as.example/a' })
  begun[0]?.fail(new Error('cancelled'))
  await settle()
  expect(said).toEqual([])
  expect(signIns.begin(true)).toBeUndefined()
})

it('no sign-in begins where signing in is impossible', () => {
  expect(create(false).signIns.begin(true)).toBeUndefined()
})
