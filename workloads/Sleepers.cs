// One thread that spins and nine that sleep, for as many seconds as the argument says.
//
//   Sleepers SECONDS
//
// Prints `ready PID`, then, when it is over, `spun SECONDS` with what a stopwatch says, and ends. C# 7 against the plain
// mscorlib, so that it runs on every .NET from 3.1 on.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Threading;

static class Sleepers
{
    const int Asleep = 9;

    static volatile bool over;

    static void Main(string[] arguments)
    {
        double seconds = double.Parse(arguments[0], CultureInfo.InvariantCulture);
        var threads = new List<Thread>();
        for (int number = 0; number < Asleep; number++)
        {
            threads.Add(Start(Sleeper));
        }
        double spun = 0;
        var spinner = Start(() => spun = Spin(seconds));
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        spinner.Join();
        over = true;
        foreach (var thread in threads)
        {
            thread.Interrupt();
            thread.Join();
        }
        Console.WriteLine("spun " + spun.ToString("F3", CultureInfo.InvariantCulture));
    }

    static Thread Start(ThreadStart work)
    {
        var thread = new Thread(work);
        thread.Start();
        return thread;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Sleeper()
    {
        try
        {
            while (!over)
            {
                Thread.Sleep(100000);
            }
        }
        catch (ThreadInterruptedException)
        {
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static double Spin(double seconds)
    {
        var watch = Stopwatch.StartNew();
        double sum = 0;
        while (watch.Elapsed.TotalSeconds < seconds)
        {
            sum += Turn(20000);
        }
        return sum < 0 ? 0 : watch.Elapsed.TotalSeconds;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static double Turn(int times)
    {
        double sum = 0;
        for (int time = 1; time < times; time++)
        {
            sum += 1.0 / time;
        }
        return sum;
    }
}
