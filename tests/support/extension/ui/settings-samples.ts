import type {
  ProfileForm,
  ProfilesView,
  ProfileView,
  SettingsView,
} from '../../../../extension/core/settings/settings-view.ts'

const notes: ProfileView = {
  id: 'notes',
  label: 'Notes',
  appUrl: 'https://notes.example.com',
  baseUrl: 'https://mcp.example.com',
  cookieName: undefined,
  mayRead: true,
  mayTest: false,
}

const staging: ProfileView = {
  id: 'staging',
  label: 'Notes (staging)',
  appUrl: 'http://staging.internal:3000/notes',
  baseUrl: undefined,
  cookieName: 'notes-session',
  mayRead: false,
  mayTest: false,
}

const form: ProfileForm = {
  isNew: true,
  draft: { id: 'new', label: '', appUrl: 'https://notes.example.com', baseUrl: '', cookieName: '' },
  faults: {},
}

function profiles(changes: Partial<ProfilesView> = {}): ProfilesView {
  return {
    kind: 'profiles',
    profiles: [notes, staging],
    otherSites: [],
    form: undefined,
    deleting: undefined,
    notice: { kind: 'none' },
    ...changes,
  }
}

/** Every screen of the settings page, by the name of its screenshot. */
export const settingsSamples: Readonly<Record<string, SettingsView>> = {
  empty: profiles({ profiles: [] }),
  profiles: profiles({ otherSites: ['app.example.org', 'localhost'] }),
  saved: profiles({ notice: { kind: 'saved', label: 'Notes' } }),
  'form-new': profiles({ form }),
  'form-faults': profiles({
    form: {
      ...form,
      draft: { ...form.draft, appUrl: '', baseUrl: 'http://mcp.example.com', cookieName: 'a b' },
      faults: { appUrl: 'missing', baseUrl: 'not-secure', cookieName: 'bad-name' },
    },
  }),
  deletion: profiles({ deleting: { id: 'notes', label: 'Notes' } }),
  'allow-read': { kind: 'allow', purpose: 'read', host: 'notes.example.com', outcome: 'open' },
  'allow-test': { kind: 'allow', purpose: 'test', host: 'mcp.example.com', outcome: 'open' },
  'allow-refused': { kind: 'allow', purpose: 'read', host: 'notes.example.com', outcome: 'refused' },
  'allow-done': { kind: 'allow', purpose: 'read', host: 'notes.example.com', outcome: 'allowed' },
}
