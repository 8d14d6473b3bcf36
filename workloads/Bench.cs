// One busy thread that does the same work over and over and says how long each piece took: what a profiler costs is what
// the pieces take longer.
//
//   Bench SECONDS [MILLISECONDS]      runs for so long, in slices that take about so many milliseconds (75) when nothing
//                                     disturbs them
//
// A slice is a fixed amount of work, calibrated once after every method is compiled for good, and makes no garbage. Lines
// on standard output, times in nanoseconds:
//
//   ready PID
//   slice WALL CPU       after every slice: how long it took by CLOCK_MONOTONIC, and by CLOCK_THREAD_CPUTIME_ID
//
// Its stacks are those of a real program in small: some twenty-five frames of virtual calls, a part of the time below
// precompiled code of the class library, and a part below the C library, which calls back.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

static unsafe class Bench
{
    struct Timespec
    {
        public long Seconds;
        public long Nanoseconds;
    }

    const int ClockMonotonic = 1;
    const int ClockThreadCpu = 3;
    const long DefaultSliceMilliseconds = 75;
    const int Depth = 20;

    [DllImport("libc", EntryPoint = "clock_gettime")]
    static extern int ClockGetTime(int clock, Timespec* time);

    static long sink;

    static int Main(string[] args)
    {
        double seconds = double.Parse(args[0]);
        long slice = (args.Length > 1 ? long.Parse(args[1]) : DefaultSliceMilliseconds) * 1000000;
        Stage work = new Counter();
        for (int level = 0; level < Depth; level++)
        {
            work = level % 2 == 0 ? (Stage)new Adder(work) : new Mixer(work);
        }
        WarmUp(work);
        int units = Settle(work, slice);
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        Run(work, units, seconds);
        return sink == 42 ? 1 : 0;
    }

    static void Run(Stage work, int units, double seconds)
    {
        long end = Now(ClockMonotonic) + (long)(seconds * 1e9);
        long wall = Now(ClockMonotonic);
        while (wall < end)
        {
            long cpu = Now(ClockThreadCpu);
            wall = Now(ClockMonotonic);
            Slice(work, units);
            long wallTaken = Now(ClockMonotonic) - wall;
            long cpuTaken = Now(ClockThreadCpu) - cpu;
            Console.WriteLine("slice " + wallTaken + " " + cpuTaken);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Slice(Stage work, int units)
    {
        for (int unit = 0; unit < units; unit++)
        {
            sink += work.Run(unit);
        }
    }

    // Enough calls for every tier, with pauses in which the runtime's compiler thread can put the last one in place.
    static void WarmUp(Stage work)
    {
        for (int round = 0; round < 12; round++)
        {
            for (int call = 0; call < 40; call++)
            {
                Slice(work, 3);
            }
            Thread.Sleep(120);
        }
    }

    // How many units make a slice. The last tier comes only after some tens of whole slices: so do them, until the work
    // takes as long after them as before. On a machine that is never quiet that may never be; then the last try counts.
    static int Settle(Stage work, long slice)
    {
        const int mostTries = 8;
        const int slices = 40;
        long before = UnitTime(work);
        for (int count = 0; ; count++)
        {
            int units = (int)Math.Max(1, slice / before);
            for (int i = 0; i < slices; i++)
            {
                Slice(work, units);
            }
            Thread.Sleep(300);
            long after = UnitTime(work);
            if (count == mostTries || Math.Abs(after - before) * 50 < before)
            {
                return (int)Math.Max(1, slice / after);
            }
            before = after;
        }
    }

    // CPU time of a unit. The least of several tries, as whatever disturbs a try makes it longer.
    static long UnitTime(Stage work)
    {
        const int units = 100;
        long least = long.MaxValue;
        for (int count = 0; count < 25; count++)
        {
            long before = Now(ClockThreadCpu);
            Slice(work, units);
            least = Math.Min(least, Now(ClockThreadCpu) - before);
        }
        return Math.Max(1, least / units);
    }

    static long Now(int clock)
    {
        Timespec time;
        ClockGetTime(clock, &time);
        return time.Seconds * 1000000000 + time.Nanoseconds;
    }
}

// A level of the call stack.
abstract class Stage
{
    public abstract long Run(int unit);
}

// Calls the next level, with a little work of its own around the call.
sealed class Adder : Stage
{
    readonly Stage next;
    readonly int[] terms = new int[64];

    public Adder(Stage next)
    {
        this.next = next;
    }

    public override long Run(int unit)
    {
        long sum = next.Run(unit);
        for (int i = 0; i < terms.Length; i++)
        {
            terms[i] += (int)sum + i;
            sum += terms[i];
        }
        return sum;
    }
}

// The same with other work, so that a call site meets more than one type.
sealed class Mixer : Stage
{
    readonly Stage next;

    public Mixer(Stage next)
    {
        this.next = next;
    }

    public override long Run(int unit)
    {
        ulong state = (ulong)next.Run(unit) | 1;
        for (int i = 0; i < 64; i++)
        {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        return (long)state;
    }
}

// The deepest level: a table of the class library, its sort, and the C library's sort with a comparison of ours.
sealed unsafe class Counter : Stage
{
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    delegate int Comparison(int* left, int* right);

    [DllImport("libc", EntryPoint = "qsort")]
    static extern void NativeSort(int* items, UIntPtr count, UIntPtr size, Comparison comparison);

    static readonly Comparison ByValue = Compare;

    readonly Dictionary<int, int> table = new Dictionary<int, int>();
    readonly int[] items = new int[256];

    public Counter()
    {
        for (int key = 0; key < 1024; key++)
        {
            table[key] = key;
        }
    }

    public override long Run(int unit)
    {
        long sum = Count(unit);
        Fill();
        Array.Sort(items);
        sum += items[0];
        Fill();
        fixed (int* first = items)
        {
            NativeSort(first, (UIntPtr)64, (UIntPtr)sizeof(int), ByValue);
        }
        return sum + items[0];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    long Count(int unit)
    {
        long sum = 0;
        for (int i = 0; i < 512; i++)
        {
            int key = (unit + i * 7) & 1023;
            sum += ++table[key];
        }
        return sum;
    }

    // Always the same numbers: a sort's work depends on them.
    [MethodImpl(MethodImplOptions.NoInlining)]
    void Fill()
    {
        uint state = 2463534242;
        for (int i = 0; i < items.Length; i++)
        {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            items[i] = (int)state;
        }
    }

    static int Compare(int* left, int* right)
    {
        return *left < *right ? -1 : *left > *right ? 1 : 0;
    }
}
