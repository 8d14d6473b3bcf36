// Lets one kind of thing happen in the runtime, again and again, for traces of events.
//
//   Happens gc            garbage of all sizes, some of it kept, and collections of every kind
//   Happens exceptions    2000 exceptions: two of InvalidOperationException for each ArgumentException
//   Happens contention    four threads that wait for a lock, 25 times
//   Happens pool          more blocking work than the thread pool has threads for, and tasks that wait for each other
//   Happens source        300 rounds of an event source's own events: all plain types, arrays and structures, activities
//   Happens large         an event of 60 kB, one of 70 kB, which is more than the runtime takes, and a small one
//   Happens counters      nothing, for four seconds: who listens to counters hears of them
//   Happens flood COUNT   COUNT small events from four threads
//   Happens allocations COUNT   COUNT arrays of more than 100 KiB, each of which the runtime has an event for
//
// Prints `ready PID`, does it, and ends. C# 7 against the plain mscorlib, so that it runs on every .NET from 3.1 on.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Threading;
using System.Threading.Tasks;

[EventSource(Name = "Strata-Happens")]
sealed class Happenings : EventSource
{
    public static readonly Happenings Log = new Happenings();

    public static class Keywords
    {
        public const EventKeywords Numbers = (EventKeywords)1;
    }

    [EventData]
    public class Order
    {
        public int Number { get; set; }
        public string Customer { get; set; }
        public int[] Amounts { get; set; }
        public double[] Weights { get; set; }
        public Address Where { get; set; }
    }

    [EventData]
    public class Address
    {
        public string City { get; set; }
        public double Distance { get; set; }
        public byte[] Code { get; set; }
    }

    [Event(1, Level = EventLevel.Informational, Keywords = Keywords.Numbers)]
    public void Numbers(bool flag, byte small, short number, int integer, long large, float single, double real)
    {
        WriteEvent(1, flag, small, number, integer, large, single, real);
    }

    [Event(2, Level = EventLevel.Warning)]
    public void Words(string text, string other, Guid id)
    {
        WriteEvent(2, text, other, id);
    }

    [Event(3)]
    public void RequestStart(string path)
    {
        WriteEvent(3, path);
    }

    [Event(4)]
    public void RequestStop(int status)
    {
        WriteEvent(4, status);
    }

    [Event(5, Level = EventLevel.Verbose)]
    public void Tick(int number)
    {
        WriteEvent(5, number);
    }
}

static class Happens
{
    static readonly object Gate = new object();
    static readonly List<byte[]> Kept = new List<byte[]>();

    // Public, so that no compiler may leave out what is put here.
    public static object Last;

    static int Main(string[] args)
    {
        Action what = Chosen(args);
        if (what == null)
        {
            Console.Error.WriteLine("usage: Happens gc|exceptions|contention|pool|source|large|counters|flood|allocations [COUNT]");
            return 64;
        }
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        Console.Out.Flush();
        what();
        return 0;
    }

    static Action Chosen(string[] args)
    {
        int count = args.Length > 1 ? int.Parse(args[1]) : 100000;
        switch (args.Length > 0 ? args[0] : "")
        {
            case "gc":
                return Collect;
            case "exceptions":
                return Throw;
            case "contention":
                return Contend;
            case "pool":
                return Crowd;
            case "source":
                return Tell;
            case "large":
                return TellMuch;
            case "counters":
                return () => Thread.Sleep(4000);
            case "flood":
                return () => InThreads(4, () => Flood(count / 4));
            case "allocations":
                return () => InThreads(4, () => Allocate(count / 4));
            default:
                return null;
        }
    }

    static void InThreads(int count, Action work)
    {
        var threads = new List<Thread>();
        for (int i = 0; i < count; i++)
        {
            var thread = new Thread(() => work()) { Name = "worker " + i };
            threads.Add(thread);
            thread.Start();
        }
        threads.ForEach(thread => thread.Join());
    }

    static void Collect()
    {
        for (int round = 0; round < 60; round++)
        {
            for (int i = 0; i < 2000; i++)
            {
                Last = new byte[i];
                Last = "text " + i;
            }
            Kept.Add(new byte[100000]);
            if (Kept.Count > 20)
            {
                Kept.RemoveRange(0, 10);
            }
            GC.Collect(round % 3, round % 2 == 0 ? GCCollectionMode.Forced : GCCollectionMode.Optimized);
        }
    }

    static void Throw()
    {
        for (int i = 0; i < 2000; i++)
        {
            try
            {
                if (i % 3 == 2)
                {
                    throw new ArgumentException("bad argument " + i);
                }
                throw new InvalidOperationException("not now " + i);
            }
            catch (ArgumentException)
            {
            }
            catch (InvalidOperationException)
            {
            }
        }
    }

    // Four threads at a lock that this one holds until all of them wait for it, as often as it takes for a trace of some size.
    static void Contend()
    {
        for (int round = 0; round < 25; round++)
        {
            var threads = new List<Thread>();
            lock (Gate)
            {
                for (int i = 0; i < 4; i++)
                {
                    var thread = new Thread(() => { lock (Gate) { Thread.Sleep(1); } }) { Name = "worker " + i };
                    threads.Add(thread);
                    thread.Start();
                }
                foreach (Thread thread in threads)
                {
                    while ((thread.ThreadState & System.Threading.ThreadState.WaitSleepJoin) == 0)
                    {
                        Thread.Sleep(1);
                    }
                }
            }
            threads.ForEach(thread => thread.Join());
        }
    }

    static void Crowd()
    {
        using (var done = new CountdownEvent(60))
        {
            for (int i = 0; i < 60; i++)
            {
                ThreadPool.QueueUserWorkItem(_ =>
                {
                    Thread.Sleep(20);
                    done.Signal();
                });
            }
            done.Wait();
        }
        for (int i = 0; i < 50; i++)
        {
            Task<int> first = Task.Run(() => 1);
            first.ContinueWith(task => task.Result + 1).Wait();
        }
    }

    static void Tell()
    {
        for (int round = 0; round < 300; round++)
        {
            Happenings.Log.RequestStart("/orders/" + round);
            Happenings.Log.Numbers(round % 2 == 0, (byte)round, (short)-round, round * 1000, -1L << 40, round / 2f, round / 3.0);
            Happenings.Log.Words("plain", "<b>\u00e4\ud83d\ude00\n</b>", new Guid(round, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
            Happenings.Log.Write("Ordered", new Happenings.Order
            {
                Number = round,
                Customer = "c" + round,
                Amounts = new[] { round, -round, 7 },
                Weights = new[] { 0.5, round },
                Where = new Happenings.Address { City = "Ulm", Distance = 1.5, Code = new byte[] { 1, 2, 3 } },
            });
            Happenings.Log.RequestStop(200);
        }
    }

    static void TellMuch()
    {
        foreach (int length in new[] { 30000, 35000, 5 })
        {
            Happenings.Log.RequestStart(new string('x', length));
        }
    }

    static void Allocate(int count)
    {
        for (int i = 0; i < count; i++)
        {
            if (i % 2 == 0)
            {
                Last = new byte[110000];
            }
            else
            {
                Last = new long[14000];
            }
        }
    }

    static void Flood(int count)
    {
        for (int i = 0; i < count; i++)
        {
            Happenings.Log.Tick(i);
        }
    }
}
