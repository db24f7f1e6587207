import type { PopupView, ReadyView } from '../../../../extension/core/popup/popup-view.ts'
import type { SessionView } from '../../../../extension/core/session/session-reader.ts'

const host = 'notes.example.com'
const appUrl = 'https://notes.example.com'
const server = 'https://mcp.example.com/mcp'

const tools = [
  'search_notes',
  'read_note',
  'create_note',
  'update_note',
  'delete_note',
  'list_notebooks',
  'share_note',
  'export_notebook',
  'list_tags',
  'add_tag',
  'remove_tag',
  'summarise_week',
]

/** Looks like a token, but is unsigned and useless. */
export const sampleToken: string = [
  'eyJhbGciOiJFUzI1NiIsImtpZCI6InNhbXBsZSIsInR5cCI6IkpXVCJ9',
  'eyJpc3MiOiJodHRwczovL2FiY2RlZmdoaWprbC5zdXBhYmFzZS5jbyIsInN1YiI6InNhbXBsZSIsImVtYWlsIjoiYWRhQGV4YW1wbGUuY29tIn0',
  'c2FtcGxlLXNpZ25hdHVyZS10aGF0LW5vYm9keS1oYXMtbWFkZS1hbmQtbm9ib2R5LWNhbi12ZXJpZnktYXQtYWxsLXg5S2Y',
].join('.')

function sessionAt(now: number): SessionView {
  return {
    id: 'sample',
    account: 'ada@example.com',
    project: 'abcdefghijklmnopqrst',
    issuer: 'abcdefghijklmnopqrst.supabase.co',
    place: 'cookie',
    expiresAt: now + 47 * 60 + 12,
  }
}

/** Returns a ready view at `now` (epoch seconds) with the given changes. */
export function sampleReady(now: number, changes: Partial<ReadyView> = {}): ReadyView {
  return {
    kind: 'ready',
    host,
    session: sessionAt(now),
    hasOthers: false,
    masked: 'eyJhbG…x9Kf',
    revealed: undefined,
    claims: [
      { name: 'iss', value: 'https://abcdefghijklmnopqrst.supabase.co/auth/v1' },
      { name: 'sub', value: '7c1f5d0e-9a44-4c7e-8f2b-0d6a3b5e1c92' },
      { name: 'aud', value: 'authenticated' },
      { name: 'role', value: 'authenticated' },
      { name: 'email', value: 'ada@example.com' },
      { name: 'iat', value: String(now - 768), at: now - 768 },
      { name: 'exp', value: String(now + 2832), at: now + 2832 },
    ],
    profile: { label: 'Notes', server },
    announced: undefined,
    copied: undefined,
    copyFailed: false,
    test: { kind: 'none' },
    ...changes,
  }
}

/** Returns every screen of the popup by the name of its screenshot, at `now` in epoch seconds. */
export function viewSamples(now: number): Readonly<Record<string, PopupView>> {
  const session = sessionAt(now)
  const ready = (changes?: Partial<ReadyView>): ReadyView => sampleReady(now, changes)
  const withoutServer = { profile: { label: host, server: undefined } }
  return {
    loading: { kind: 'loading' },
    'no-web-page': { kind: 'no-web-page', appUrl: undefined },
    'no-web-page-app': { kind: 'no-web-page', appUrl },
    'no-permission': { kind: 'no-permission', host, incognito: false },
    'no-permission-private': { kind: 'no-permission', host, incognito: true },
    'signed-out': { kind: 'signed-out', host, appUrl: undefined },
    'signed-out-app': { kind: 'signed-out', host, appUrl },
    'signed-out-further': { kind: 'signed-out', host, appUrl, further: 'example.com' },
    incomplete: { kind: 'incomplete', host, project: session.project },
    corrupt: { kind: 'corrupt', host, project: session.project, reason: 'malformed' },
    'corrupt-too-large': { kind: 'corrupt', host, project: session.project, reason: 'too-large' },
    'corrupt-no-token': { kind: 'corrupt', host, project: session.project, reason: 'no-access-token' },
    'corrupt-missing-chunk': { kind: 'corrupt', host, project: session.project, reason: 'missing-chunk' },
    expired: { kind: 'expired', host, session: { ...session, expiresAt: now - 90 }, waiting: false },
    waiting: { kind: 'expired', host, session: { ...session, expiresAt: now - 90 }, waiting: true },
    several: {
      kind: 'several',
      host,
      sessions: [
        session,
        {
          id: 'second',
          account: 'grace@example.com',
          project: 'qrstuvwxyzabcdefghij',
          issuer: 'qrstuvwxyzabcdefghij.supabase.co',
          place: 'partitioned-cookie',
          expiresAt: now + 3 * 86_400,
        },
        {
          id: 'third',
          account: undefined,
          project: 'team-session',
          issuer: undefined,
          place: 'local-storage',
          expiresAt: undefined,
        },
      ],
    },
    ready: ready(),
    'ready-others': ready({ hasOthers: true }),
    'ready-no-server': ready({ ...withoutServer }),
    'ready-announced': ready({
      ...withoutServer,
      announced: { server: 'https://notes.example.com/mcp', isOtherHost: false },
    }),
    'ready-announced-elsewhere': ready({
      ...withoutServer,
      announced: { server: 'https://notes.example.com.tools.example.net/team/mcp', isOtherHost: true },
    }),
    'ready-revealed': ready({ revealed: sampleToken }),
    'ready-copied': ready({ copied: 'token' }),
    'ready-copied-config': ready({ copied: 'config-claude-code' }),
    'ready-copy-failed': ready({ copyFailed: true }),
    'ready-ends-soon': ready({ session: { ...session, expiresAt: now + 249 } }),
    'ready-endless': ready({ session: { ...session, account: undefined, expiresAt: undefined }, claims: [] }),
    testing: ready({ test: { kind: 'running' } }),
    'test-passed': ready({ test: { kind: 'passed', server: 'Notes', tools, milliseconds: 123 } }),
    'test-passed-one': ready({
      test: { kind: 'passed', server: undefined, tools: ['search_notes'], milliseconds: 1234 },
    }),
    'test-refused': ready({
      test: {
        kind: 'refused',
        status: 401,
        error: 'invalid_token',
        description: 'The token was issued by another project.',
      },
    }),
    'test-not-mcp': ready({ test: { kind: 'not-mcp', status: 404, detail: 'text/html' } }),
    'test-no-permission': ready({ test: { kind: 'no-permission', host: 'mcp.example.com' } }),
    'test-unreachable': ready({ test: { kind: 'unreachable', host: 'mcp.example.com' } }),
  }
}

const markup = '<img src=x onerror="document.title=\'executed\'"><script>document.title="executed"</script>'
const hostile = `${markup}\u202e"'&lt;${'W'.repeat(4000)}`

/** Returns screens with hostile page content: markup, reversed text, thousands of characters. */
export function hostileSamples(now: number): Readonly<Record<string, PopupView>> {
  const session: SessionView = {
    id: hostile,
    account: hostile,
    project: hostile,
    issuer: hostile,
    place: 'cookie',
    expiresAt: now + 9e9,
  }
  const ready: ReadyView = sampleReady(now, {
    host: hostile,
    session,
    masked: hostile,
    claims: [{ name: hostile, value: hostile }],
    profile: { label: hostile, server: `https://${hostile}` },
  })
  return {
    'no-permission': { kind: 'no-permission', host: hostile, incognito: false },
    'signed-out': { kind: 'signed-out', host: hostile, appUrl: hostile },
    corrupt: { kind: 'corrupt', host: hostile, project: hostile, reason: 'malformed' },
    expired: { kind: 'expired', host: hostile, session, waiting: false },
    several: { kind: 'several', host: hostile, sessions: [session, session] },
    ready: { ...ready, revealed: hostile, hasOthers: true },
    'test-passed': {
      ...ready,
      test: {
        kind: 'passed',
        server: hostile,
        tools: Array.from({ length: 200 }, () => hostile),
        milliseconds: 1,
      },
    },
    'test-refused': {
      ...ready,
      test: { kind: 'refused', status: 401, error: hostile, description: hostile },
    },
    'test-not-mcp': { ...ready, test: { kind: 'not-mcp', status: 200, detail: hostile } },
    'test-no-permission': { ...ready, test: { kind: 'no-permission', host: hostile } },
  }
}
