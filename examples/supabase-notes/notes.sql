-- A table where everybody sees and changes rows of their own only. Run it in the SQL editor of the project.
create table public.notes (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null default auth.uid() references auth.users (id) on delete cascade,
  text text not null check (char_length(text) between 1 and 2000),
  created_at timestamptz not null default now()
);

create index notes_of_user on public.notes (user_id, created_at desc);

alter table public.notes enable row level security;

-- For signed-in users, and nobody else: nothing is granted to anon.
grant select, insert, update, delete on public.notes to authenticated;

create policy "own notes are read" on public.notes
  for select to authenticated using (user_id = (select auth.uid()));

create policy "own notes are added" on public.notes
  for insert to authenticated with check (user_id = (select auth.uid()));

create policy "own notes are changed" on public.notes
  for update to authenticated using (user_id = (select auth.uid())) with check (user_id = (select auth.uid()));

create policy "own notes are deleted" on public.notes
  for delete to authenticated using (user_id = (select auth.uid()));
