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
      { file: 'tests/bridge/auth-revoked.test.ts', titles: ['an authorization server that has forgotten'] },
      { file: 'tests/bridge/sign-in-first.test.ts', titles: ['a first sign-in'] },
      {
        file: 'bridge/oauth/grants/authorization-code.test.ts',
        titles: ['that is forged, early or malformed ends nothing'],
      },
    ],
  },
  {
    what: 'the session is lost with ten calls under way: ten of ten are answered',
    tests: [
      {
        file: 'bridge/transport/session-transport.test.ts',
        titles: ['is made anew once for a burst of calls, each answered once'],
      },
      {
        file: 'bridge/proxy/proxy-calls.test.ts',
        titles: ['ten calls of a modern client whose session a legacy server has forgotten'],
      },
    ],
  },
  {
    what: 'stdin ends, or a signal comes, in every phase: exit 0 within a second',
    tests: [
      {
        file: 'tests/bridge/life-end.test.ts',
        titles: ['that ends since %s, while %s: within a second, with exit code 0'],
      },
    ],
  },
  {
    what: 'a sign-in is pending: initialize is answered at once all the same',
    tests: [
      {
        file: 'bridge/proxy/proxy-sign-in.test.ts',
        titles: ['is answered in time, gets a tool to sign in, and everything afterwards'],
      },
    ],
  },
]

/** Formats {@link shownByTests} for display. */
export function shownByTestsText(): string {
  const lines = shownByTests.map(
    ({ what, tests }) => `- ${what}${tests.map(({ file }) => `\n    ${file}`).join('')}`,
  )
  return ['Shown by tests:', ...lines].join('\n')
}
