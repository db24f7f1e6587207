/** A requirement of the bridge other than speed, and the tests that prove it. */
export interface ShownByTests {
  what: string
  /** Titles in test files, relative to the repository. */
  tests: readonly { file: string; titles: readonly string[] }[]
}

/** All requirements of the bridge that are not measured here. */
export const shownByTests: readonly ShownByTests[] = [
  {
    what: 'tokens expired or revoked: every call succeeds, one refresh at most, none reused, no new tab',
    tests: [
      {
        file: 'tests/bridge/auth-revoked.test.ts',
        titles: ['access tokens that are revoked under way', 'access tokens that have ended'],
      },
      { file: 'tests/bridge/auth-kill.test.ts', titles: ['kill -9 in the middle of a refresh'] },
    ],
  },
  {
    what: 'a login that is really dead, or none: one tab, one registration at most, and all calls succeed',
    tests: [
      { file: 'tests/bridge/auth-server.test.ts', titles: ['an authorization server that has forgotten'] },
      { file: 'tests/bridge/sign-in-first.test.ts', titles: ['a first sign-in'] },
      { file: 'tests/bridge/sign-in-callback.test.ts', titles: ['that is forged gets a page that says so'] },
    ],
  },
  {
    what: 'the session is lost with ten calls under way: ten of ten are answered',
    tests: [{ file: 'tests/bridge/session-lost.test.ts', titles: ['a burst of ten calls'] }],
  },
  {
    what: 'stdin ends, or a signal comes, in every phase: exit 0 within a second',
    tests: [
      {
        file: 'tests/bridge/life-end.test.ts',
        titles: ['that ends since %s, while %s: within a second, with exit code 0'],
      },
      { file: 'tests/bridge/sign-in-first.test.ts', titles: ['is over with %s: exit 0 within a second'] },
    ],
  },
  {
    what: 'a sign-in is pending: initialize is answered at once all the same',
    tests: [{ file: 'tests/bridge/sign-in-first.test.ts', titles: ['does not keep a client from starting'] }],
  },
]

/** Formats {@link shownByTests} for display. */
export function shownByTestsText(): string {
  const lines = shownByTests.map(
    ({ what, tests }) => `- ${what}${tests.map(({ file }) => `\n    ${file}`).join('')}`,
  )
  return ['Shown by tests:', ...lines].join('\n')
}
