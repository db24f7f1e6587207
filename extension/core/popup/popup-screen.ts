import type { PopupView, ReadyView } from './popup-view.ts'
import type { FoundSession } from '../session/session-reader.ts'
import { hostOf, isWebPage } from '../site.ts'
import type { Look } from '../session/tab-look.ts'

/**
 * Returns the screen for a reading, or the usable session. Of several sessions, picks the one with the id `choice`,
 * or else the one with the profile's cookie name, or else the only active one; otherwise the user has to choose. An empty
 * `choice` means to show all. `waiting` belongs to the screen of an expired session. `now` is epoch seconds.
 */
export function screenOf(
  { tab: { url, incognito }, profile, appUrl, reading, further }: Look,
  choice: string | undefined,
  waiting: boolean,
  now: number,
): Exclude<PopupView, ReadyView> | FoundSession {
  const host = hostOf(url)
  switch (reading.kind) {
    case 'sessions': {
      const { sessions } = reading
      const session = select(sessions, profile?.cookieName, choice, now)
      if (!session) return { kind: 'several', host, sessions: sessions.map(({ view }) => view) }
      return isOver(session, now) ? { kind: 'expired', host, session: session.view, waiting } : session
    }
    case 'invalid': {
      const { project, reason } = reading
      const isIncomplete = reason === 'missing-chunk'
      return isIncomplete ? { kind: 'incomplete', host, project } : { kind: 'corrupt', host, project, reason }
    }
    case 'none':
      if (!isWebPage(url)) return { kind: 'no-web-page', appUrl }
      if (reading.mayRead) return { kind: 'signed-out', host, appUrl, further }
      return { kind: 'no-permission', host, incognito }
  }
}

function select(
  sessions: readonly FoundSession[],
  named: string | undefined,
  choice: string | undefined,
  now: number,
): FoundSession | undefined {
  const called = (id: string | undefined): FoundSession | undefined =>
    sessions.find(({ view }) => view.id === id)
  const chosen = called(choice)
  if (chosen || (choice === '' && sessions.length > 1)) return chosen
  const lasting = sessions.filter((session) => !isOver(session, now))
  return called(named) ?? (lasting.length > 1 ? undefined : (lasting[0] ?? sessions[0]))
}

function isOver({ view: { expiresAt } }: FoundSession, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now
}
