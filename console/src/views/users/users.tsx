import { Button, Group, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type FormEvent, useState } from 'react'
import { useSearchParams } from 'wouter'
import { restartSearch, type Search } from '../../api/events.ts'
import { useUser } from '../../api/users.ts'
import { Icon } from '../../ui/layout/icon.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Page, Panel } from '../../ui/layout/page.tsx'
import { MayManage } from '../../ui/may-manage.tsx'
import { SearchResults } from '../event-search/results.tsx'
import { DeleteUsers } from './delete-users.tsx'
import { DeletionList } from './deletion-list.tsx'
import { UserPanel } from './user.tsx'

export default function Users() {
  const [params, setParams] = useSearchParams()
  const [opened, { open, close }] = useDisclosure()
  const userId = params.get('userId') || undefined

  function find(wanted: string): void {
    restartSearch(searchOf(wanted))
    setParams({ userId: wanted })
  }

  return (
    <Page
      title="Users"
      lead="Find a user, see the last events and what happened to them, and delete or suppress the user."
      actions={
        <MayManage what="all">
          <Button variant="default" onClick={open}>
            Delete several users
          </Button>
        </MayManage>
      }
    >
      <FindUser key={userId} userId={userId} onFind={find} />
      {userId !== undefined && <OneUser key={userId} userId={userId} />}
      {/* above the events, which can be many screens */}
      <DeletionList />
      {userId !== undefined && <LastEvents userId={userId} />}
      <DeleteUsers opened={opened} onClose={close} />
    </Page>
  )
}

const searchOf = (userId: string): Search => ({ by: 'userId', value: userId })

type FindProps = { userId: string | undefined; onFind: (userId: string) => void }

function FindUser({ userId, onFind }: FindProps) {
  const [value, setValue] = useState(userId ?? '')
  function submit(event: FormEvent) {
    event.preventDefault()
    if (value.trim() !== '') onFind(value.trim())
  }
  return (
    <search>
      <form onSubmit={submit}>
        <Group align="flex-end" gap="xs">
          <TextInput
            flex={1}
            miw={220}
            maw={520}
            label="User ID"
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
            autoComplete="off"
            spellCheck={false}
          />
          <Button type="submit" leftSection={<Icon of="search" size={16} />}>
            Find user
          </Button>
        </Group>
      </form>
    </search>
  )
}

function OneUser({ userId }: { userId: string }) {
  const query = useUser(userId)
  return <Loaded query={query}>{(user) => <UserPanel user={user} />}</Loaded>
}

const LastEvents = ({ userId }: { userId: string }) => (
  <Panel
    title="Last events"
    lead="Accepted and rejected calls with this user ID, newest first. An event of type delete is a deletion."
  >
    <SearchResults key={userId} search={searchOf(userId)} />
  </Panel>
)
